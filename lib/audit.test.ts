import { randomUUID } from "node:crypto"
import sharp from "sharp"
import { afterEach, expect, test } from "vitest"
import { createAccount } from "@/lib/accounts/create"
import { changeRole, changeStatus } from "@/lib/accounts/mutations"
import { addNote } from "@/lib/accounts/notes"
import type { OwnerId } from "@/lib/accounts/owner"
import { renameAccount } from "@/lib/accounts/rename"
import { confirmAddressChange, undoAddressChange } from "@/lib/address-change"
import { deductCredits, grantCredits } from "@/lib/credits/mutations"
import { env } from "@/lib/env"
import { changeFeedback, replyToFeedback } from "@/lib/feedback"
import { invite } from "@/lib/invitations"
import { changeKey } from "@/lib/keys/change"
import { issueKey, revokeKeyOfAccount } from "@/lib/keys/mutations"
import { rotateKey } from "@/lib/keys/rotation"
import type { Role } from "@/lib/permissions"
import { removePicture, savePicture } from "@/lib/pictures/pictures"
import { db } from "@/lib/postgres/prisma"
import { hashOf } from "@/lib/sign-in/link-token"
import { changePassword } from "@/lib/sign-in/password-change"
import { writePassword } from "@/lib/sign-in/password-write"
import { connectProvider, disconnectProvider } from "@/lib/sign-in/provider-accounts"
import { auditFailedSignIn, auditSignIn, auditSignOut, endSessions } from "@/lib/sign-in/sessions"
import {
  cheapHashOf,
  createConnection,
  createKey,
  createPicture,
  createSession,
  createUser,
  createViewer,
} from "@/tests/support/factories"
import type { AuditAction } from "./audit"

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

/** Does each thing that is audited. */
const actions: Record<AuditAction, () => Promise<unknown>> = {
  "user.signed_up": () => createAccount({ email: newEmail(), name: `Name ${marker}` }),
  "user.signed_in": async () => auditSignIn((await account()).id, "password", address),
  "user.sign_in_failed": async () =>
    auditFailedSignIn((await account()).id, { via: "password", address, reason: "wrong" }),
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
  "user.password_changed": async () =>
    changePassword((await account()).id, { current: password, password: `Another ${password}` }, { address }),
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
  "feedback.reviewed": async () => changeFeedback("review", (await account("owner")).id, await feedback()),
  "feedback.resolved": async () => changeFeedback("resolve", (await account("owner")).id, await feedback()),
  "feedback.replied": async () => {
    Object.assign(env(), { DEMO: "on" })
    const form = { id: await feedback(), requestId: randomUUID(), reply: `Thank you ${marker}` }
    return replyToFeedback((await account("owner")).id, form)
  },
  "waitlist.invited": async () => {
    Object.assign(env(), { DEMO: "on" })
    return invite((await account("owner")).id, (await waitlistEntry()).id)
  },
}

// Replies and invitations are audited once their email is sent.
afterEach(() => {
  Object.assign(env(), { DEMO: "off" })
})

test("the target of an entry is found whatever the spelling of the id that a form sent", async () => {
  Object.assign(env(), { DEMO: "on" })
  const [actor, { id }] = [await account("owner"), await waitlistEntry()]
  expect(await invite(actor.id, id.toUpperCase())).toMatchObject({ ok: true, invited: true })
  expect(await db().auditEntry.count({ where: { targetId: id } })).toBe(1)
})

test.each(Object.entries(actions))(
  "the audit entry of %s holds no name, no email address and no password",
  async (action, act) => {
    await act()
    const entries = await db().auditEntry.findMany({ where: { action } })
    expect(entries).not.toEqual([])
    expect(JSON.stringify(entries)).not.toContain(marker)
  },
)
