import type { Confirmation } from "@/components/confirm/confirm-form"
import { Untrusted } from "@/components/values/untrusted"
import { remove } from "./actions"

export type Named = { id: string; name: string }

export function factorRemoval(id: string, factors: readonly Named[]): Confirmation {
  const factor = factors.find((factor) => factor.id === id)
  return {
    title: id === "app" ? "Remove the authenticator app?" : "Remove this passkey?",
    description: (
      <>
        <span className="font-medium text-ink wrap-anywhere">
          <Untrusted>{factor?.name ?? "It"}</Untrusted>
        </span>{" "}
        is removed from your account, and all other browsers are signed out.
        {factor &&
          factors.length === 1 &&
          " This is your last one: your password alone will sign you in, and your recovery codes are deleted."}
      </>
    ),
    action: remove,
    fields: <input type="hidden" name="factor" value={id} />,
    submit: id === "app" ? "Remove app" : "Remove passkey",
    kind: "danger",
  }
}
