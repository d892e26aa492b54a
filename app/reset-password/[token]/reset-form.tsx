"use client"

import type { ReactNode } from "react"
import { Done } from "@/components/form/done"
import { Form } from "@/components/form/form"
import { buttonStyle } from "@/components/ui/button"
import { reset } from "./actions"

export function ResetForm({ unavailable, children }: { unavailable: ReactNode; children: ReactNode }) {
  return (
    <Form
      action={reset}
      done={(of) => <PasswordSet {...of} />}
      unavailable={unavailable}
      ifLost="If the link no longer works, your new password is already set."
    >
      {children}
    </Form>
  )
}

function PasswordSet({ providers }: { providers: readonly string[] }) {
  return (
    <Done title="Your password is set">
      <p className="text-muted">
        You are signed in, and all other browsers are signed out. Your API keys did not change: revoke any that you do
        not recognize.
      </p>
      {providers.length > 0 && (
        <p className="text-muted">
          {providers.join(" and ")} can still sign in to your account. If you did not connect {them(providers)},{" "}
          <a href="/account/security" className="text-accent underline">
            disconnect {them(providers)} under Security
          </a>
          .
        </p>
      )}
      {/* A full page load, because the session is a new one. */}
      <a href="/api-keys" className={buttonStyle()}>
        Go to your API keys
      </a>
    </Done>
  )
}

function them(providers: readonly string[]): string {
  return providers.length > 1 ? "them" : "it"
}
