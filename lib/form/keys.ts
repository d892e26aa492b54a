import { revalidatePath } from "next/cache"
import { headers } from "next/headers"
import { after } from "next/server"
import { z } from "zod"
import { changeForms, changeKey, type KeyChange } from "@/lib/keys/change"
import { badDate, type RevocationReason, revocationReasons, usageDays } from "@/lib/keys/choices"
import {
  issueKey,
  maxKeys,
  maxLiveKeys,
  type NewKey,
  type NotIssued,
  newKeyForms,
  revokeKeys,
} from "@/lib/keys/mutations"
import { notifyOwnersOfNewKey } from "@/lib/keys/owner-notices"
import { type Rotation, rotateKey, rotationForm } from "@/lib/keys/rotation"
import type { Scope } from "@/lib/keys/scopes"
import { startOf } from "@/lib/keys/secret"
import { sendEmail } from "@/lib/platform/email/send"
import { wholeClientAddress } from "@/lib/platform/rate-limit/client-address"
import { isWithin } from "@/lib/platform/rate-limit/ip-address"
import { rowIds } from "@/lib/platform/schemas/form-fields"
import { absoluteTime } from "@/lib/platform/text/format-time"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { kinds, type Surface } from "@/lib/surfaces"
import { done, invalid, type Message, refused, retryLater, signedOut } from "./action"

export type Created =
  /** The only response that contains the key. */
  | {
      id: string
      secret: string
      name: string
      expiresAt: string | null
      mayRun: boolean
      replacedUntil?: string | null
      report?: string
      warning?: string
    }
  | "already_issued"

type Context = { viewer: Viewer }

export function createKeyForm(surface: Surface, scopesOf: (role: string) => Promise<Scope[]>) {
  const { issuePermission, asksForProof, page } = kinds[surface]
  return {
    // The form for admin keys lacks the spending fields.
    fields: newKeyForms[surface] as (typeof newKeyForms)["user"],
    permission: issuePermission,
    fresh: asksForProof,
    act: async (form: NewKey, { viewer }: Context) => {
      const warning = await warningAbout(form.addresses)
      const issued = await issueKey(surface, viewer, form, await scopesOf(viewer.role))
      if (issued.ok) {
        const { name, scopes } = form
        const { id, secret, expiresAt } = issued
        after(() => sendEmail(viewer, "key_created", { surface, name, start: startOf(secret) }))
        const key = { id, secret, name, expiresAt, mayRun: scopes.includes("run") }
        return created(surface, viewer, key, warning ? { warning } : {})
      }
      switch (issued.reason) {
        case "bad_date":
          return invalid({ date: badDate })
        case "not_offered":
          return invalid({ scopes: "Your role no longer has one of these permissions. Choose again." })
        case "too_many_keys":
          return refused(
            `You have ${maxLiveKeys} active keys on this page, which is the limit. Revoke one that you no longer need, then try again.`,
          )
        default:
          return notIssued(issued, page)
      }
    },
  }
}

export function rotateKeyForm(surface: Surface) {
  const { issuePermission, asksForProof, page } = kinds[surface]
  return {
    fields: rotationForm,
    permission: issuePermission,
    fresh: asksForProof,
    act: async (form: Rotation, { viewer }: Context) => {
      const rotated = await rotateKey(surface, viewer, form)
      if (rotated.ok) {
        const { id, secret, name, expiresAt, mayRun, oldStart, oldWorksUntil } = rotated
        const start = startOf(secret)
        after(() => sendEmail(viewer, "key_rotated", { surface, name, start, oldStart, oldWorksUntil }))
        const replacedUntil = oldWorksUntil?.toISOString() ?? null
        const report = form.grace === "leaked" ? { report: `${page}/${form.id}/report` } : {}
        return created(surface, viewer, { id, secret, name, expiresAt, mayRun }, { replacedUntil, ...report })
      }
      switch (rotated.reason) {
        case "not_found":
          return refused("You have no such key on this page. Reload the page to see the current list.")
        case "ended":
          return refused("This key no longer works, so it cannot be rotated. Create a new key.")
        case "already_rotated":
          return refused("This key was already replaced. Rotate the key that replaced it.")
        case "predecessor_works":
          return refused(
            `The previous key works until ${absoluteTime(rotated.until)}. Revoke it first, or choose that this one leaked.`,
          )
        default:
          return notIssued(rotated, page)
      }
    },
  }
}

function created(
  surface: Surface,
  viewer: Viewer,
  { expiresAt, ...key }: { id: string; secret: string; name: string; mayRun: boolean; expiresAt: Date | null },
  more: { replacedUntil?: string | null; report?: string; warning?: string },
) {
  const { reportedToOwners, page } = kinds[surface]
  if (reportedToOwners) after(() => notifyOwnersOfNewKey(viewer, startOf(key.secret)))
  revalidatePath(page)
  return done<Created>({ ...key, expiresAt: expiresAt?.toISOString() ?? null, ...more })
}

function notIssued(result: NotIssued, page: string) {
  switch (result.reason) {
    case "signed_out":
      return signedOut
    case "already_issued":
      revalidatePath(page)
      return done<Created>("already_issued")
    case "too_many_kept":
      return refused(
        `Your account has had ${maxKeys.toLocaleString("en")} keys in the last ${usageDays} days, which is the limit. Use a key that works, and revoke one that leaked. You can create another one when one of them ended ${usageDays} days ago.`,
      )
    case "too_many_issued":
      return retryLater("Too many keys were created within an hour", result)
  }
}

export function changeKeyForm(surface: Surface) {
  const { issuePermission, asksForProof, page } = kinds[surface]
  return {
    fields: changeForms[surface] as (typeof changeForms)["user"],
    permission: issuePermission,
    fresh: asksForProof,
    act: async (form: KeyChange, { viewer }: Context) => {
      const changed = await changeKey(surface, viewer, form)
      if (changed.ok) {
        const { start } = changed
        after(() => sendEmail(viewer, "key_changed", { surface, name: form.name, start }))
        revalidatePath(page)
        const warning = await warningAbout(form.addresses)
        return done([`The key “${form.name}” is changed.`, warning].filter(Boolean).join(" "))
      }
      switch (changed.reason) {
        case "signed_out":
          return signedOut
        case "not_found":
          return refused("You have no such key on this page. Reload the page to see the current list.")
        case "ended":
          return refused("This key no longer works, so it cannot be changed.")
        case "changed_since":
          return refused("This key was changed since this form was opened. Reload the page to see its settings.")
        case "too_many_changes":
          return retryLater("Keys were changed too often within an hour", changed)
      }
    },
  }
}

async function warningAbout(addresses: readonly string[]): Promise<string | undefined> {
  if (addresses.length === 0) return undefined
  const address = wholeClientAddress(await headers())
  if (address && isWithin(address, addresses)) return undefined
  return `It does not work from ${address ? `your own address, ${address}` : "your own address, which is unknown"}.`
}

export const reasonField = z.enum(Object.keys(revocationReasons) as [RevocationReason, ...RevocationReason[]], {
  error: "Choose a reason.",
})

const revocation = z.object({ id: rowIds, reason: reasonField, replaced: z.string() })

export function revokeKeyForm(surface: Surface) {
  const { issuePermission, page } = kinds[surface]
  return {
    fields: revocation,
    permission: issuePermission,
    fresh: false,
    act: async (form: z.output<typeof revocation>, { viewer }: Context) => {
      const result = await revokeKeys(surface, viewer, { ...form, ids: form.id })
      if (!result.ok) return refused("This key is not on this page. Reload the page to see the current list.")
      for (const { owner, keys } of result.revoked) after(() => sendEmail(owner, "keys_revoked", { keys }))
      revalidatePath(page)
      const count = result.revoked.reduce((total, { keys }) => total + keys.length, 0)
      const [key, ...others] = result.keys
      if (others.length > 0) return done<Message>(revokedCount(count))
      return done(revokedMessage(key.name, form, `${page}/${key.id}`, count > 1))
    },
  }
}

export function revokedCount(count: number): string {
  if (count === 0) return "The keys had ended before."
  return `${count} ${count === 1 ? "key is" : "keys are"} revoked.`
}

export function revokedMessage(
  name: string,
  { reason }: { reason: RevocationReason },
  page?: string,
  withReplaced = false,
): Message {
  const text = withReplaced
    ? `The key “${name}” and the key that it replaced are revoked.`
    : `The key “${name}” is revoked.`
  return reason === "leaked" && page ? { text, href: `${page}/report`, link: "See what it read." } : text
}
