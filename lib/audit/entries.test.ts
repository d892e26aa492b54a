import { randomUUID } from "node:crypto"
import sharp from "sharp"
import { afterEach, expect, test, vi } from "vitest"
import { createAccount } from "@/lib/accounts/create"
import { requestDeletion, requestDeletionOf, undoDeletionOf } from "@/lib/accounts/deletion"
import { changeRole, changeStatus } from "@/lib/accounts/mutations"
import { addNote } from "@/lib/accounts/notes"
import { renameAccount } from "@/lib/accounts/rename"
import { confirmAddressChange, undoAddressChange } from "@/lib/address-change"
import type { OwnerId } from "@/lib/authority/owner"
import { deductCredits, grantCredits } from "@/lib/credits/mutations"
import { env } from "@/lib/env"
import { changeFeedback, replyToFeedback } from "@/lib/feedback"
import { changeKey } from "@/lib/keys/change"
import { issueKey, revokeKeyOfAccount } from "@/lib/keys/mutations"
import { rotateKey } from "@/lib/keys/rotation"
import { eraseDueAccounts } from "@/lib/leaving/erasure"
import { allowExport, consumeExport } from "@/lib/leaving/export-token"
import { auditDetails } from "@/lib/leaving/personal-data"
import type { Role } from "@/lib/permissions"
import { removePicture, savePicture } from "@/lib/pictures/pictures"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { setTopUp } from "@/lib/purchases/top-ups"
import { afterRestore } from "@/lib/restore/after-restore"
import { hashOf } from "@/lib/sign-in/link-token"
import { changePassword } from "@/lib/sign-in/passwords/password-change"
import { writePassword } from "@/lib/sign-in/passwords/password-write"
import { connectProvider, disconnectProvider } from "@/lib/sign-in/providers/provider-accounts"
import { endSessions } from "@/lib/sign-in/session-rows"
import { auditFailedProof, auditFailedSignIn, auditSignIn, auditSignOut } from "@/lib/sign-in/sign-in-audit"
import { confirmApp, startApp, startedApp } from "@/lib/sign-in/two-factor/app"
import { confirmCode } from "@/lib/sign-in/two-factor/codes"
import { removeFactor, resetFactors } from "@/lib/sign-in/two-factor/factors"
import { confirmPasskey, passkeyOptions } from "@/lib/sign-in/two-factor/passkeys"
import { replaceRecoveryCodes } from "@/lib/sign-in/two-factor/recovery-codes"
import { singletons } from "@/lib/singleton"
import { invite } from "@/lib/waitlist/invitations"
import {
  appCode,
  cheapHashOf,
  createApp,
  createConnection,
  createKey,
  createPasskey,
  createPicture,
  createSession,
  createUser,
  createViewer,
} from "@/tests/support/factories"
import { isSigned } from "@/tests/support/log-lines"
import { acts } from "@/tests/yours/audit"
import { type AuditAction, audit, logAuditEntries } from "./entries"

/** In every name, email address and password of this file. */
const marker = randomUUID()

const password = `The password ${marker}`
const address = "192.0.2.1"
const reason = "A reason that staff typed"

function newEmail(): string {
  return `${randomUUID()}-${marker}@example.com`
}

async function account(role: Role = "member") {
  const marked = { email: newEmail(), name: `Name ${marker}`, passwordHash: cheapHashOf(password) }
  const { id } = await createUser({ ...marked, role, creditAccount: { create: { balance: 100, granted: 100 } } })
  return { id: id as OwnerId }
}

async function key() {
  return (await createKey({ user: await account(), surface: "user", name: `Key ${marker}` })).key
}

const status = async (change: "ban" | "unban" | "close", { id }: { id: string }) =>
  changeStatus(change, (await account("owner")).id, id, reason)

async function addressChange(confirmedAt: Date | null) {
  const [{ id }, token] = [await account(), randomUUID()]
  const change = { userId: id, from: newEmail(), to: newEmail(), token: hashOf(token), confirmedAt }
  await db().addressChange.create({ data: change })
  return { id, token }
}

function viewer() {
  return createViewer({ email: newEmail(), name: `Name ${marker}`, passwordHash: cheapHashOf(password) })
}

async function feedback() {
  const data = { userId: (await account()).id, rating: 4, message: `A message ${marker}` }
  return (await db().feedback.create({ data })).id
}

function waitlistEntry() {
  return db().waitlistEntry.create({ data: { email: newEmail(), source: "blog" } })
}

const connection = () => ({ provider: "github", providerAccountId: randomUUID() })

const credits = () => ({ requestId: randomUUID(), amount: 5, reason })

/** Tested in their module, which can be removed: lib/payments/staff.test.ts. */
type OfModule = `${"order" | "payment_request"}.${string}` | "subscription.canceled"

/** Does each thing that is audited. */
const yourActs = Object.fromEntries(
  Object.entries<(owner: OwnerId) => Promise<unknown>>(acts).map(([action, act]) => [
    action,
    async () => act((await account()).id),
  ]),
) as Record<keyof typeof acts, () => Promise<unknown>>

const actions: Record<Exclude<AuditAction, OfModule>, () => Promise<unknown>> = {
  ...yourActs,
  "user.signed_up": () => createAccount({ email: newEmail(), name: `Name ${marker}` }),
  "user.signed_in": async () => auditSignIn((await account()).id, "password", address),
  "user.sign_in_failed": async () =>
    auditFailedSignIn((await account()).id, { via: "password", address, reason: "wrong" }),
  "user.proof_failed": async () => auditFailedProof((await account()).id, { method: "password", address }),
  "user.signed_out": async () => auditSignOut((await account()).id),
  "user.sessions_ended": async () => {
    const user = await account()
    const { id } = await createSession(user)
    return endSessions(user.id, id)
  },
  "user.role_changed": async () => changeRole((await account("owner")).id, (await account()).id, "support"),
  "user.banned": async () => status("ban", await account()),
  "user.unbanned": async () => {
    const user = await account()
    await status("ban", user)
    return status("unban", user)
  },
  "user.closed": async () => status("close", await account()),
  "user.renamed": async () => renameAccount((await account()).id, { name: `Another ${marker}` }),
  "user.picture_changed": async () => {
    const create = { width: 9, height: 9, channels: 3, background: "red" } as const
    const image = new Uint8Array(await sharp({ create }).png().toBuffer())
    return savePicture((await account()).id, async () => new File([image], `${marker}.png`))
  },
  "user.picture_removed": async () => {
    const { id } = await account()
    await createPicture(id)
    return removePicture(id)
  },
  "user.noted": async () => {
    const form = { id: (await account()).id, requestId: randomUUID(), text: `Called ${marker} back` }
    return addNote((await account("owner")).id, form)
  },
  "user.top_up_changed": async () =>
    setTopUp((await account()).id, { below: 100, pack: 500, currency: "usd", maxPerMonth: 1 }),
  "user.exported": async () => {
    const exporting = await viewer()
    return consumeExport(exporting, await allowExport(exporting), address)
  },
  "user.deletion_requested": async () => requestDeletion(await viewer()),
  "user.deletion_undone": async () => {
    const [manager, { id }] = [await account("owner"), await account()]
    await requestDeletionOf(manager.id, id)
    return undoDeletionOf(manager.id, id)
  },
  "user.erased": async () => {
    const { id } = await account()
    await requestDeletionOf((await account("owner")).id, id)
    const past = new Date(Date.now() - 120_000)
    await db().accountDeletion.update({ where: { userId: id }, data: { dueAt: past, startedAt: past } })
    return eraseDueAccounts()
  },
  "user.address_changed": async () => {
    const { id, token } = await addressChange(null)
    return confirmAddressChange(id, token, address)
  },
  "user.address_restored": async () => undoAddressChange((await addressChange(new Date())).token, address),
  "user.provider_connected": async () => connectProvider(await viewer(), connection()),
  "user.provider_disconnected": async () => {
    const disconnecting = await viewer()
    const { id } = await createConnection(disconnecting.id)
    return disconnectProvider(disconnecting, id)
  },
  "user.passkey_added": async () => createPasskey(await viewer(), `Passkey ${marker}`),
  "user.passkey_removed": async () => {
    const owner = await viewer()
    await createPasskey(owner, `Passkey ${marker}`)
    const { id } = await db().passkey.findFirstOrThrow({ where: { userId: owner.id } })
    return removeFactor(owner, id)
  },
  "user.passkey_refused": async () => {
    const { authenticator } = await createPasskey(await viewer(), `Passkey ${marker}`)
    const use = { purpose: "sign-in" } as const
    await confirmPasskey(authenticator.sign(await passkeyOptions(use)), use)
    return confirmPasskey(authenticator.sign(await passkeyOptions(use), { counter: 1 }), use)
  },
  "user.passkey_uncounted": async () => {
    const { authenticator } = await createPasskey(await viewer(), `Passkey ${marker}`)
    const use = { purpose: "sign-in" } as const
    await confirmPasskey(authenticator.sign(await passkeyOptions(use)), use)
    return confirmPasskey(authenticator.sign(await passkeyOptions(use), { counter: 0 }), use)
  },
  "user.app_added": async () => {
    const owner = await viewer()
    await startApp(owner)
    return confirmApp(owner, appCode((await startedApp(owner))?.secret ?? ""))
  },
  "user.app_removed": async () => {
    const owner = await viewer()
    await createApp(owner.id)
    return removeFactor(owner, "app")
  },
  "user.recovery_codes_replaced": async () => {
    const owner = await viewer()
    await createApp(owner.id)
    return replaceRecoveryCodes(owner)
  },
  "user.recovery_code_used": async () => {
    const owner = await viewer()
    const { recoveryCodes: [code = ""] = [] } = await createPasskey(owner)
    return confirmCode(owner.id, code, { address })
  },
  "user.factors_reset": async () => {
    const owner = await viewer()
    await createPasskey(owner)
    return db().$transaction((transaction) => resetFactors(transaction, owner.id))
  },
  "user.password_changed": async () =>
    changePassword(await viewer(), { current: password, password: `Another ${password}` }, { address }),
  "user.password_reset": async () => {
    const written = { userId: (await account()).id, actorId: null, passwordHash: `Hash ${marker}` }
    return db().$transaction((transaction) => writePassword(transaction, { ...written, action: "user.password_reset" }))
  },
  "credits.granted": async () => grantCredits((await account("owner")).id, (await account()).id, credits()),
  "credits.deducted": async () => deductCredits((await account("owner")).id, (await account()).id, credits()),
  "api_key.issued": async () => {
    const limits = { scopes: ["read" as const], addresses: [], requestsPerMinute: null }
    const form = { requestId: randomUUID(), name: `Key ${marker}`, expires: "never" as const, date: null, ...limits }
    return issueKey("user", await viewer(), form, ["read"])
  },
  "api_key.rotated": async () => {
    const user = await viewer()
    const { id } = (await createKey({ user, surface: "user", name: `Key ${marker}` })).key
    return rotateKey("user", user, { id, requestId: randomUUID(), grace: "24h" })
  },
  "api_key.changed": async () => {
    const user = await viewer()
    const { id } = (await createKey({ user, surface: "user" })).key
    const change = { id, name: `Key ${marker}`, addresses: ["203.0.113.0/24"], requestsPerMinute: 5 }
    return changeKey("user", user, change)
  },
  "api_key.revoked": async () =>
    revokeKeyOfAccount((await account("owner")).id, { id: (await key()).id, reason: "leaked" }),
  "feedback.reviewed": async () => changeFeedback("review", (await account("owner")).id, [await feedback()]),
  "feedback.resolved": async () => changeFeedback("resolve", (await account("owner")).id, [await feedback()]),
  "feedback.replied": async () => {
    Object.assign(env(), { DEMO: "on" })
    const form = { id: await feedback(), requestId: randomUUID(), reply: `Thank you ${marker}` }
    return replyToFeedback((await account("owner")).id, form)
  },
  "waitlist.invited": async () => {
    Object.assign(env(), { DEMO: "on" })
    return invite((await account("owner")).id, [(await waitlistEntry()).id])
  },
  "database.restored": () => db().$transaction((transaction) => afterRestore(transaction, {})),
}

// Replies and invitations are audited once their email is sent.
afterEach(() => {
  Object.assign(env(), { DEMO: "off" })
})

test("the target of an entry is found for any spelling of the id in the form", async () => {
  Object.assign(env(), { DEMO: "on" })
  const [actor, { id }] = [await account("owner"), await waitlistEntry()]
  expect(await invite(actor.id, [id.toUpperCase()])).toMatchObject({ ok: true, invited: [expect.any(String)] })
  expect(await db().auditEntry.count({ where: { targetId: id } })).toBe(1)
})

test("a server logs each entry with ids alone, and a script logs none", async () => {
  const info = vi.spyOn(log(), "info")
  const targetId = randomUUID()
  const details = { reason, address, from: "admin", to: "support" }
  const record = { actorId: null, action: "user.role_changed", targetType: "user", targetId, details } as const
  await audit(db(), record)
  expect(info).not.toHaveBeenCalled()
  logAuditEntries()
  await audit(db(), record)
  delete singletons.auditEntriesLogged
  const { id: entryId } = await db().auditEntry.findFirstOrThrow({ where: { targetId }, orderBy: { id: "desc" } })
  const { details: _, ...ids } = record
  const [[line, event] = []] = info.mock.calls as unknown[][]
  expect([line, event]).toEqual([expect.objectContaining({ entryId, ...ids, role: "support" }), "audited"])
  expect(isSigned("audited", line)).toBe(true)
})

test.each(Object.entries(actions))(
  "the audit entry of %s holds no name, no email address and no password, and only details of the map of readers",
  async (action, act) => {
    await act()
    const entries = await db().auditEntry.findMany({ where: { action } })
    expect(entries).not.toEqual([])
    expect(JSON.stringify(entries)).not.toContain(marker)
    const names = entries.flatMap(({ details }) => Object.keys(details as object))
    expect(Object.keys(auditDetails), "Add it to lib/leaving/personal-data.ts.").toEqual(expect.arrayContaining(names))
  },
)
