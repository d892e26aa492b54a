import { revalidatePath } from "next/cache"
import { after } from "next/server"
import { z } from "zod"
import { sendEmail } from "@/lib/email/send"
import { textFields } from "@/lib/form/text-fields"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { currentViewer, type Viewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"
import { holds } from "../permissions"
import { inMinutes } from "../time-words"
import { issueKey, maxLiveKeys, newKeyForm, revokeKey } from "./mutations"
import { startOf } from "./secret"

/** What was typed, to be shown again beside what is wrong with it. */
export type NewKeyValues = { name: string; expires: string; date: string }

export type NewKeyErrors = { [Field in keyof NewKeyValues]?: string | undefined }

export type CreateKeyState =
  /** The one answer that holds a key. */
  | { ok: true; secret: string; name: string; expiresAt: string | null }
  | { ok: false; reason: "already_issued" }
  | { ok: false; reason: "signed_out"; values: NewKeyValues }
  | { ok: false; reason: "refused"; message: string; values: NewKeyValues }
  | { ok: false; reason: "invalid"; errors: NewKeyErrors; values: NewKeyValues }

/** For the action of a key page: checks who asks, from where and for what, issues the key and answers with it once. */
export async function createKeyAction(surface: Surface, data: FormData): Promise<CreateKeyState> {
  const { requestId, ...values } = textFields(data, "requestId", "name", "expires", "date")
  const asked = await whoAsks(surface)
  if (!asked.ok) return { ...asked, values }

  const form = newKeyForm.safeParse({ ...values, requestId })
  if (!form.success) return { ok: false, ...whatIsWrong(form.error), values }

  const issued = await issueKey(surface, asked.viewer.id, form.data)
  if (!issued.ok && issued.reason === "too_many_issued") {
    const message = `Too many keys were created within an hour. Try again ${inMinutes(issued.retryAfterSeconds)}.`
    return { ok: false, reason: "refused", message, values }
  }
  if (!issued.ok && issued.reason !== "already_issued") return { ok: false, ...unissued[issued.reason], values }
  revalidatePath(kinds[surface].page)
  if (!issued.ok) return { ok: false, reason: "already_issued" }
  const { viewer } = asked
  const { name } = form.data
  const start = startOf(issued.secret)
  after(() => sendEmail(viewer, "key_created", { surface, keyName: name, start }))
  const expiresAt = issued.expiresAt?.toISOString() ?? null
  return { ok: true, secret: issued.secret, name, expiresAt }
}

const unissued = {
  bad_date: { reason: "invalid", errors: { date: "Choose a day from today to ten years ahead." } },
  too_many_keys: {
    reason: "refused",
    message: `You have ${maxLiveKeys} working keys here, which is the limit. Revoke one you no longer need, then create this one.`,
  },
} as const

export type RevokeState = { ok: true } | { ok: false; reason: "signed_out" } | { ok: false; message: string }

/** For the action of a key page: checks who asks and from where, and revokes the key named by the field `id`. */
export async function revokeKeyAction(surface: Surface, data: FormData): Promise<RevokeState> {
  const asked = await whoAsks(surface)
  if (!asked.ok) return asked
  const id = z.uuid().safeParse(textFields(data, "id").id)
  const result = id.success ? await revokeKey(surface, asked.viewer.id, id.data) : ({ ok: false } as const)
  if (!result.ok) return { ok: false, message: "There is no such key on this page. Reload it to see the current list." }
  const { revoked } = result
  if (revoked) {
    const { owner, name, start } = revoked
    after(() => sendEmail(owner, "key_revoked", { surface, keyName: name, start }))
  }
  revalidatePath(kinds[surface].page)
  return { ok: true }
}

type Asked =
  | { ok: true; viewer: Viewer }
  | { ok: false; reason: "signed_out" }
  | { ok: false; reason: "refused"; message: string }

async function whoAsks(surface: Surface): Promise<Asked> {
  if (!(await isSameOrigin())) {
    return { ok: false, reason: "refused", message: "This request did not come from this site, so nothing was done." }
  }
  const viewer = await currentViewer()
  if (!viewer) return { ok: false, reason: "signed_out" }
  const { issuing } = kinds[surface]
  if (issuing === null || holds(viewer.role, issuing)) return { ok: true, viewer }
  return { ok: false, reason: "refused", message: `Your role no longer holds the permission ${issuing}.` }
}

function whatIsWrong(
  error: z.ZodError,
): { reason: "invalid"; errors: NewKeyErrors } | { reason: "refused"; message: string } {
  const { fieldErrors } = z.flattenError(error as z.ZodError<NewKeyValues & { requestId: string }>)
  if (fieldErrors.requestId)
    return { reason: "refused", message: "This form is not complete. Reload the page and try again." }
  const errors = { name: fieldErrors.name?.[0], expires: fieldErrors.expires?.[0], date: fieldErrors.date?.[0] }
  return { reason: "invalid", errors }
}
