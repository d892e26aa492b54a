import { revalidatePath } from "next/cache"
import { after } from "next/server"
import { z } from "zod"
import { sendEmail } from "@/lib/email/send"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { currentViewer, type Viewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"
import { holds } from "../permissions"
import { issueKey, maxLiveKeys, newKeyForm, revokeKey } from "./mutations"
import { startOf } from "./secret"

/** The submitted values, shown again with their errors. */
export type NewKeyValues = { name: string; expires: string; date: string }

export type NewKeyErrors = { [Field in keyof NewKeyValues]?: string | undefined }

export type CreateKeyState =
  /** The only response that contains the key. */
  | { ok: true; secret: string; name: string; expiresAt: string | null }
  | { ok: false; reason: "already_issued" }
  | { ok: false; reason: "signed_out"; values: NewKeyValues }
  | { ok: false; reason: "refused"; message: string; values: NewKeyValues }
  | { ok: false; reason: "invalid"; errors: NewKeyErrors; values: NewKeyValues }

/** The create action of a key page: checks origin, session and permission, issues the key and returns it once. */
export async function createKeyAction(surface: Surface, data: FormData): Promise<CreateKeyState> {
  const { requestId, ...values } = textFields(data, "requestId", "name", "expires", "date")
  const access = await authorize(surface)
  if (!access.ok) return { ...access, values }

  const form = newKeyForm.safeParse({ ...values, requestId })
  if (!form.success) return { ok: false, ...validationErrors(form.error), values }

  const issued = await issueKey(surface, access.viewer.id, form.data)
  if (!issued.ok && issued.reason === "too_many_issued") {
    const message = `Too many keys were created within an hour. Try again ${inMinutes(issued.retryAfterSeconds)}.`
    return { ok: false, reason: "refused", message, values }
  }
  if (!issued.ok && issued.reason !== "already_issued") return { ok: false, ...refusals[issued.reason], values }
  revalidatePath(kinds[surface].page)
  if (!issued.ok) return { ok: false, reason: "already_issued" }
  const { viewer } = access
  const { name } = form.data
  const start = startOf(issued.secret)
  after(() => sendEmail(viewer, "key_created", { surface, keyName: name, start }))
  const expiresAt = issued.expiresAt?.toISOString() ?? null
  return { ok: true, secret: issued.secret, name, expiresAt }
}

const refusals = {
  bad_date: { reason: "invalid", errors: { date: "Choose a date from today to ten years from now." } },
  too_many_keys: {
    reason: "refused",
    message: `You have ${maxLiveKeys} active keys on this page, which is the limit. Revoke one that you no longer need, then try again.`,
  },
} as const

export type RevokeState = { ok: true } | { ok: false; reason: "signed_out" } | { ok: false; message: string }

/** The revoke action of a key page: checks origin, session and permission, and revokes the key in the field `id`. */
export async function revokeKeyAction(surface: Surface, data: FormData): Promise<RevokeState> {
  const access = await authorize(surface)
  if (!access.ok) return access
  const id = z.uuid().safeParse(textFields(data, "id").id)
  const result = id.success ? await revokeKey(surface, access.viewer.id, id.data) : ({ ok: false } as const)
  if (!result.ok) return { ok: false, message: "There is no such key on this page. Reload it to see the current list." }
  const { revoked } = result
  if (revoked) {
    const { owner, name, start } = revoked
    after(() => sendEmail(owner, "key_revoked", { surface, keyName: name, start }))
  }
  revalidatePath(kinds[surface].page)
  return { ok: true }
}

type Access =
  | { ok: true; viewer: Viewer }
  | { ok: false; reason: "signed_out" }
  | { ok: false; reason: "refused"; message: string }

async function authorize(surface: Surface): Promise<Access> {
  if (!(await isSameOrigin())) {
    return {
      ok: false,
      reason: "refused",
      message: "This form was not sent from this site. Reload the page and try again.",
    }
  }
  const viewer = await currentViewer()
  if (!viewer) return { ok: false, reason: "signed_out" }
  const { issuing } = kinds[surface]
  if (issuing === null || holds(viewer.role, issuing)) return { ok: true, viewer }
  return { ok: false, reason: "refused", message: `Your role no longer holds the permission ${issuing}.` }
}

function validationErrors(
  error: z.ZodError,
): { reason: "invalid"; errors: NewKeyErrors } | { reason: "refused"; message: string } {
  const { fieldErrors } = z.flattenError(error as z.ZodError<NewKeyValues & { requestId: string }>)
  if (fieldErrors.requestId)
    return { reason: "refused", message: "This form is not complete. Reload the page and try again." }
  const errors = { name: fieldErrors.name?.[0], expires: fieldErrors.expires?.[0], date: fieldErrors.date?.[0] }
  return { reason: "invalid", errors }
}
