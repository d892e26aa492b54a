"use server"

import { revalidatePath } from "next/cache"
import { z } from "zod"
import { type ChangeResult, changeRole, changeStatus, type StatusChange, statusReason } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/accounts/owner"
import { type CreditResult, creditForm, deductCredits, grantCredits } from "@/lib/credits/mutations"
import { inCredits } from "@/lib/credits/words"
import { textFields } from "@/lib/form/text-fields"
import { holds, roleNames } from "@/lib/permissions"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { currentViewer } from "@/lib/sign-in/session"
import { type AccountAction, accountActions, isAccountAction, refusals } from "./account-actions"

/** The submitted values, which the form shows again next to its errors. */
export type ActionValues = { role: string; amount: string; reason: string }

export type ActionErrors = { [Field in keyof ActionValues]?: string | undefined }

type Outcome =
  | { ok: true; message: string }
  | { ok: false; reason: "refused"; message: string }
  | { ok: false; reason: "invalid"; errors: ActionErrors }

export type ActionState =
  | Extract<Outcome, { ok: true }>
  | (Extract<Outcome, { ok: false }> & { values: ActionValues })
  | { ok: false; reason: "signed_out"; values: ActionValues }

/** Applies the submitted action to the account. */
export async function actOnAccount(_last: ActionState | null, data: FormData): Promise<ActionState> {
  const { action, id, requestId, ...values } = textFields(data, "action", "id", "requestId", "role", "amount", "reason")
  const refuse = (message: string) => ({ ok: false, reason: "refused", message, values }) as const
  if (!(await isSameOrigin())) return refuse("This form was not sent from this site. Reload the page and try again.")
  const viewer = await currentViewer()
  if (!viewer) return { ok: false, reason: "signed_out", values }
  if (!isAccountAction(action) || !z.uuid().safeParse(id).success) {
    return refuse("This form is incomplete. Reload the page and try again.")
  }
  const { permission } = accountActions[action]
  if (!holds(viewer.role, permission)) return refuse(`Your role lacks the permission ${permission}.`)
  const outcome = await handlers[action](viewer.id, id, { ...values, requestId })
  revalidatePath(`/admin/users/${id}`)
  return outcome.ok ? outcome : { ...outcome, values }
}

type Handler = (actor: OwnerId, account: string, form: ActionValues & { requestId: string }) => Promise<Outcome>

const handlers: Record<AccountAction, Handler> = {
  ban: status("ban", "The account is banned.", "The account is already banned."),
  unban: status("unban", "The account is unbanned.", "The account is not banned."),
  close: status("close", "The account is closed.", "The account is already closed."),
  role: async (actor, account, form) => {
    const role = z.enum(roleNames).safeParse(form.role)
    if (!role.success) return invalid({ role: "Choose a role." })
    const result = await changeRole(actor, account, role.data)
    if (!result.ok && result.reason === "role_beyond_actor") return invalid({ role: refusals.role_beyond_actor })
    return ofChange(result, `The role is now ${role.data}.`, `The role is already ${role.data}.`)
  },
  grant: credits(grantCredits),
  deduct: credits(deductCredits),
}

function status(change: StatusChange, changed: string, unchanged: string): Handler {
  return async (actor, account, form) => {
    const reason = form.reason.trim() === "" ? null : statusReason.safeParse(form.reason)
    if (reason && !reason.success) return invalid({ reason: reason.error.issues[0]?.message })
    return ofChange(await changeStatus(change, actor, account, reason?.data ?? null), changed, unchanged)
  }
}

function credits(change: typeof grantCredits): Handler {
  return async (actor, account, { requestId, amount, reason }) => {
    const form = creditForm.safeParse({ requestId, amount, reason })
    if (form.success) return ofCredits(await change(actor, account, form.data))
    const { fieldErrors } = z.flattenError(form.error)
    if (fieldErrors.requestId) return refused("This form is incomplete. Reload the page and try again.")
    return invalid({ amount: fieldErrors.amount?.[0], reason: fieldErrors.reason?.[0] })
  }
}

function ofChange(result: ChangeResult, changed: string, unchanged: string): Outcome {
  return result.ok ? { ok: true, message: result.changed ? changed : unchanged } : refused(refusals[result.reason])
}

function ofCredits(result: CreditResult): Outcome {
  if (!result.ok) {
    return "balance" in result
      ? invalid({ amount: `${refusals[result.reason]} The balance is ${inCredits(result.balance)}.` })
      : refused(refusals[result.reason])
  }
  const what = `${inCredits(Math.abs(result.amount))} ${result.amount > 0 ? "granted" : "deducted"}`
  const balance = inCredits(result.balance)
  return {
    ok: true,
    message: result.repeated
      ? `This form was already submitted: ${what}, new balance ${balance}. It was not applied again.`
      : `${what}. The balance is ${balance}.`,
  }
}

function refused(message: string) {
  return { ok: false, reason: "refused", message } as const
}

function invalid(errors: ActionErrors) {
  return { ok: false, reason: "invalid", errors } as const
}
