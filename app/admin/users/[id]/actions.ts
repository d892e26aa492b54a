"use server"

import { revalidatePath } from "next/cache"
import { after } from "next/server"
import { z } from "zod"
import { requestDeletionOf, undoDeletionOf } from "@/lib/accounts/deletion"
import { type ChangeResult, changeRole, changeStatus, type StatusChange, statusReason } from "@/lib/accounts/mutations"
import { addNote, noteForm } from "@/lib/accounts/notes"
import { creditForm, deductCredits, grantCredits } from "@/lib/credits/mutations"
import { inCredits } from "@/lib/credits/words"
import { done, formAction, invalid, type Message, refused, retryLater } from "@/lib/form/action"
import { reasonField, revokedCount, revokedMessage } from "@/lib/form/keys"
import type { RevocationReason } from "@/lib/keys/choices"
import { consolePageOf } from "@/lib/keys/data"
import { type AccountRevocation, revokeKeyOfAccount, revokeKeysOf } from "@/lib/keys/mutations"
import { roleNames } from "@/lib/permissions"
import { removePictureOf } from "@/lib/pictures/pictures"
import { sendEmail } from "@/lib/platform/email/send"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { plainDate } from "@/lib/platform/text/format-time"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { accountActions, refusals } from "./account-actions"

const id = hidden(z.uuid())
const statusFields = z.object({ id, reason: statusReason })
const creditFields = creditForm.extend({ id })
const revocationFields = z.object({ id, reason: reasonField })

export const ban = formAction(status("ban", "The account is banned.", "The account is already banned."))

export const unban = formAction(status("unban", "The account is unbanned.", "The account is not banned."))

export const close = formAction(status("close", "The account is closed.", "The account is already closed."))

export const deleteAccount = formAction({
  fields: z.object({ id }),
  permission: accountActions.delete.permission,
  fresh: true,
  act: async ({ id }, { viewer }) => {
    const result = await requestDeletionOf(viewer.id, id)
    revalidatePath(`/admin/users/${id}`)
    if (!result.ok) return refused(refusals[result.reason])
    const { account, scheduled } = result
    if (!scheduled) return done<Message>("The deletion was already requested.")
    after(() => sendEmail(account, "deletion_requested", { ...scheduled, byStaff: true }))
    return done<Message>(`The account will be deleted on ${plainDate(scheduled.dueAt)}.`)
  },
})

export const undoDeletion = formAction({
  fields: z.object({ id }),
  permission: accountActions.undoDeletion.permission,
  fresh: true,
  act: async ({ id }, { viewer }) => {
    const result = await undoDeletionOf(viewer.id, id)
    revalidatePath(`/admin/users/${id}`)
    if (!result.ok) return refused(refusals[result.reason])
    const { account, undone } = result
    if (!undone) return done<Message>("No deletion is scheduled, or it can no longer be undone.")
    if (undone === "active") after(() => sendEmail(account, "deletion_undone", { byStaff: true }))
    const kept = { active: "is open again", still_banned: "stays banned", still_closed: "stays closed" }[undone]
    return done<Message>(`The account will not be deleted. It ${kept}.`)
  },
})

export const setRole = formAction({
  fields: z.object({ id, role: z.enum(roleNames, "Choose a role.") }),
  permission: accountActions.role.permission,
  fresh: true,
  act: async ({ id, role }, { viewer }) => {
    const result = await changeRole(viewer.id, id, role)
    revalidatePath(`/admin/users/${id}`)
    if (result.ok && result.changed) after(() => sendEmail(result.account, "role_changed", { role }))
    if (!result.ok && result.reason === "role_beyond_actor") return invalid({ role: refusals.role_beyond_actor })
    return ofChange(result, `The role is now ${role}.`, `The role is already ${role}.`)
  },
})

export const removePicture = formAction({
  fields: z.object({ id }),
  permission: accountActions.removePicture.permission,
  fresh: false,
  act: async ({ id }, { viewer }) => {
    const result = await removePictureOf(viewer.id, id)
    revalidatePath(`/admin/users/${id}`)
    return ofChange(result, "The picture is removed.", "This account has no picture.")
  },
})

export const revokeKeys = formAction({
  fields: revocationFields,
  permission: accountActions.revokeKeys.permission,
  fresh: false,
  act: async ({ id, reason }, { viewer }) => ofRevocation(await revokeKeysOf(viewer.id, id, reason), reason, viewer),
})

export const revokeKey = formAction({
  fields: revocationFields,
  permission: accountActions.revokeKeys.permission,
  fresh: false,
  act: async (form, { viewer }) => ofRevocation(await revokeKeyOfAccount(viewer.id, form), form.reason, viewer),
})

export const grant = formAction(credits("grant", grantCredits))

export const note = formAction({
  fields: noteForm,
  permission: "notes.manage",
  fresh: false,
  act: async (form, { viewer }) => {
    const result = await addNote(viewer.id, form)
    if (!result.ok && result.reason === "too_many") return retryLater("You added too many notes", result)
    if (!result.ok) return refused(refusals[result.reason])
    revalidatePath(`/admin/users/${form.id}`)
    return done()
  },
})

export const deduct = formAction(credits("deduct", deductCredits))

function status(change: StatusChange, changed: string, unchanged: string) {
  return {
    fields: statusFields,
    permission: accountActions[change].permission,
    fresh: true,
    act: async ({ id, reason }: z.output<typeof statusFields>, { viewer }: { viewer: Viewer }) => {
      const result = await changeStatus(change, viewer.id, id, reason)
      revalidatePath(`/admin/users/${id}`)
      if (change === "ban" && result.ok && result.changed) after(() => sendEmail(result.account, "account_banned"))
      const undo = { text: changed, href: `/admin/users/${id}?action=unban`, link: "Undo" }
      return ofChange(result, change === "ban" ? undo : changed, unchanged)
    },
  }
}

function credits(name: "grant" | "deduct", change: typeof grantCredits) {
  return {
    fields: creditFields,
    permission: accountActions[name].permission,
    fresh: true,
    act: async ({ id, ...form }: z.output<typeof creditFields>, { viewer }: { viewer: Viewer }) => {
      const result = await change(viewer.id, id, form)
      revalidatePath(`/admin/users/${id}`)
      if (!result.ok) {
        return "balance" in result
          ? invalid({ amount: `${refusals[result.reason]} The balance is ${inCredits(result.balance)}.` })
          : refused(refusals[result.reason])
      }
      const what = `${inCredits(Math.abs(result.amount))} ${result.amount > 0 ? "granted" : "deducted"}`
      const balance = inCredits(result.balance)
      return done(
        result.repeated
          ? `This form was already submitted: ${what}, new balance ${balance}. It was not applied again.`
          : `${what}. The balance is ${balance}.`,
      )
    },
  }
}

function ofRevocation(result: AccountRevocation, reason: RevocationReason, viewer: Viewer) {
  if (!result.ok) return refused(refusals[result.reason])
  const { owner, keys } = result
  revalidatePath(`/admin/users/${owner.id}`)
  const [first, ...others] = keys
  if (!first) return done<Message>("This account has no keys left to revoke.")
  after(() => sendEmail(owner, "keys_revoked", { keys }))
  if (others.length > 0) return done<Message>(revokedCount(keys.length))
  return done(revokedMessage(first.name, { reason }, consolePageOf(first, viewer)))
}

function ofChange(result: ChangeResult, changed: Message, unchanged: string) {
  return result.ok ? done<Message>(result.changed ? changed : unchanged) : refused(refusals[result.reason])
}
