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

/** What was typed, to be shown again beside what is wrong with it. */
export type Typed = { role: string; amount: string; reason: string }

export type ActionErrors = { [Field in keyof Typed]?: string | undefined }

type Outcome =
  | { ok: true; message: string }
  | { ok: false; reason: "refused"; message: string }
  | { ok: false; reason: "invalid"; errors: ActionErrors }

export type ActionState =
  | Extract<Outcome, { ok: true }>
  | (Extract<Outcome, { ok: false }> & { values: Typed })
  | { ok: false; reason: "signed_out"; values: Typed }

/** Does to an account what the form asks for. */
export async function actOnAccount(_last: ActionState | null, data: FormData): Promise<ActionState> {
  const { action, id, requestId, ...values } = textFields(data, "action", "id", "requestId", "role", "amount", "reason")
  const refuse = (message: string) => ({ ok: false, reason: "refused", message, values }) as const
  if (!(await isSameOrigin())) return refuse("This request did not come from this site, so nothing was done.")
  const viewer = await currentViewer()
  if (!viewer) return { ok: false, reason: "signed_out", values }
  if (!isAccountAction(action) || !z.uuid().safeParse(id).success) {
    return refuse("This form is not complete. Reload the page and try again.")
  }
  const { permission } = accountActions[action]
  if (!holds(viewer.role, permission)) return refuse(`Your role does not hold the permission ${permission}.`)
  const outcome = await carryOut[action](viewer.id, id, { ...values, requestId })
  revalidatePath(`/admin/users/${id}`)
  return outcome.ok ? outcome : { ...outcome, values }
}

type CarryOut = (actor: OwnerId, account: string, form: Typed & { requestId: string }) => Promise<Outcome>

const carryOut: Record<AccountAction, CarryOut> = {
  ban: status("ban", "The account is banned.", "The account was banned already."),
  unban: status("unban", "The ban is taken back.", "The account is not banned."),
  close: status("close", "The account is closed.", "The account was closed already."),
  role: async (actor, account, form) => {
    const role = z.enum(roleNames).safeParse(form.role)
    if (!role.success) return invalid({ role: "Choose a role." })
    const result = await changeRole(actor, account, role.data)
    if (!result.ok && result.reason === "role_beyond_actor") return invalid({ role: refusals.role_beyond_actor })
    return ofChange(result, `The role is ${role.data} now.`, `The role is ${role.data} already.`)
  },
  grant: credits(grantCredits),
  deduct: credits(deductCredits),
}

function status(change: StatusChange, done: string, already: string): CarryOut {
  return async (actor, account, form) => {
    const reason = form.reason.trim() === "" ? null : statusReason.safeParse(form.reason)
    if (reason && !reason.success) return invalid({ reason: reason.error.issues[0]?.message })
    return ofChange(await changeStatus(change, actor, account, reason?.data ?? null), done, already)
  }
}

function credits(book: typeof grantCredits): CarryOut {
  return async (actor, account, { requestId, amount, reason }) => {
    const form = creditForm.safeParse({ requestId, amount, reason })
    if (form.success) return ofCredits(await book(actor, account, form.data))
    const { fieldErrors } = z.flattenError(form.error)
    if (fieldErrors.requestId) return refused("This form is not complete. Reload the page and try again.")
    return invalid({ amount: fieldErrors.amount?.[0], reason: fieldErrors.reason?.[0] })
  }
}

function ofChange(result: ChangeResult, done: string, already: string): Outcome {
  return result.ok ? { ok: true, message: result.changed ? done : already } : refused(refusals[result.reason])
}

function ofCredits(result: CreditResult): Outcome {
  if (!result.ok) {
    return "balance" in result
      ? invalid({ amount: `${refusals[result.reason]} It is ${inCredits(result.balance)}.` })
      : refused(refusals[result.reason])
  }
  const what = `${inCredits(Math.abs(result.amount))} ${result.amount > 0 ? "granted" : "deducted"}`
  const balance = inCredits(result.balance)
  return {
    ok: true,
    message: result.repeated
      ? `This form had been carried out before: ${what}, which made the balance ${balance}. Nothing was done twice.`
      : `${what}. The balance is ${balance}.`,
  }
}

function refused(message: string) {
  return { ok: false, reason: "refused", message } as const
}

function invalid(errors: ActionErrors) {
  return { ok: false, reason: "invalid", errors } as const
}
