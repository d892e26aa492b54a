import { revalidatePath } from "next/cache"
import { after } from "next/server"
import { z } from "zod"
import { sendEmail } from "@/lib/email/send"
import { done, invalid, refused, retryLater, signedOut } from "@/lib/form/action"
import { hidden } from "@/lib/input/fields"
import type { Viewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"
import { issueKey, maxLiveKeys, type NewKey, newKeyForm, revokeKey } from "./mutations"
import { reportNewAdminKey } from "./report"
import { startOf } from "./secret"

/** What the create form shows when it is done: the key, or that the same form issued one before. */
export type Created =
  /** The only response that contains the key. */
  { secret: string; name: string; expiresAt: string | null } | "already_issued"

/** The form on a key page that issues a key. */
export function createKeyForm(surface: Surface) {
  const { issuing, page, reportedToOwners } = kinds[surface]
  return {
    fields: newKeyForm,
    permission: issuing,
    act: async (form: NewKey, { viewer }: { viewer: Viewer }) => {
      const issued = await issueKey(surface, viewer, form)
      if (issued.ok) {
        const { name } = form
        const start = startOf(issued.secret)
        after(() => sendEmail(viewer, "key_created", { surface, name, start }))
        if (reportedToOwners) after(() => reportNewAdminKey(viewer, start))
        revalidatePath(page)
        return done<Created>({ secret: issued.secret, name, expiresAt: issued.expiresAt?.toISOString() ?? null })
      }
      switch (issued.reason) {
        case "signed_out":
          return signedOut
        case "already_issued":
          revalidatePath(page)
          return done<Created>("already_issued")
        case "bad_date":
          return invalid({ date: "Choose a date from today to ten years from now." })
        case "too_many_issued":
          return retryLater("Too many keys were created within an hour", issued)
        case "too_many_keys":
          return refused(
            `You have ${maxLiveKeys} active keys on this page, which is the limit. Revoke one that you no longer need, then try again.`,
          )
      }
    },
  }
}

const revocation = z.object({ id: hidden(z.uuid()) })

/** The form on a key page that revokes a key. */
export function revokeKeyForm(surface: Surface) {
  const { issuing, page } = kinds[surface]
  return {
    fields: revocation,
    permission: issuing,
    act: async ({ id }: z.output<typeof revocation>, { viewer }: { viewer: Viewer }) => {
      const result = await revokeKey(surface, viewer, id)
      if (!result.ok) return refused("There is no such key on this page. Reload it to see the current list.")
      const { key, repeated } = result
      if (!repeated) {
        const { owner, name, start } = key
        after(() => sendEmail(owner, "keys_revoked", { keys: [{ name, start }] }))
      }
      revalidatePath(page)
      return done(`The key “${key.name}” is revoked.`)
    },
  }
}
