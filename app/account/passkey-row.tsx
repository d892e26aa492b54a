"use client"

import type { ReactNode } from "react"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { useHydrated } from "@/components/ui/use-hydrated"
import { declineOffer } from "./security/two-factor/actions"

/** In the HTML of the server, so that nothing moves; passkeys need JavaScript, and work on one host. */
export function PasskeyRow({ host, children }: { host: string; children: ReactNode }) {
  const hydrated = useHydrated()
  if (hydrated && (location.hostname !== host || !("PublicKeyCredential" in window))) return null
  return (
    <section
      aria-label="Passkey"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg border border-line px-4 py-3 noscript:hidden"
    >
      {children}
      <Form action={declineOffer} onDone={() => document.getElementById("content")?.focus()}>
        <SubmitButton kind="quiet">No, thanks</SubmitButton>
      </Form>
    </section>
  )
}
