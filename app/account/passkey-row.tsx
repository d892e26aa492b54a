"use client"

import { Fingerprint } from "lucide-react"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { useHydrated } from "@/components/ui/use-hydrated"
import { declineOffer } from "./security/two-factor/actions"

/** In the HTML of the server, so that nothing moves; passkeys need JavaScript, and work on one host. */
export function PasskeyRow({ host }: { host: string }) {
  const hydrated = useHydrated()
  if (hydrated && (location.hostname !== host || !("PublicKeyCredential" in window))) return null
  return (
    <section
      aria-label="Passkey"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg border border-line px-4 py-3 noscript:hidden"
    >
      <Fingerprint aria-hidden="true" className="size-5 shrink-0 text-muted" />
      <p className="min-w-0 grow basis-72 text-muted">
        <span className="font-medium text-ink">Sign in with a passkey.</span> Your fingerprint, face or PIN opens your
        account, and a password alone no longer does.
      </p>
      <div className="flex flex-wrap gap-2">
        <Link href="/account/security/two-factor" className={buttonStyle()}>
          Add a passkey
        </Link>
        <Form action={declineOffer} onDone={() => document.getElementById("content")?.focus()}>
          <SubmitButton kind="quiet">No, thanks</SubmitButton>
        </Form>
      </div>
    </section>
  )
}
