import Bowser from "bowser"
import type { User } from "@/generated/prisma/client"
import type { Owner, OwnerId } from "@/lib/accounts/owner"
import { audit } from "@/lib/audit"
import { maxIdleSeconds } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { log } from "@/lib/telemetry/log"
import { sessionMaxAgeSeconds } from "./cookies"

/** The signed-in account, as read from the database for this request, and its session. */
export type Viewer = Owner & {
  sessionId: string
  /** The version of the account's picture. */
  picture: string | null
}

/** How a browser signed in. */
export type SignInMethod = "password" | "github" | "google" | "sign-up" | "password reset" | "password change"

/** What the cookie of a session contains. */
export type SessionToken = { sub: string; sid: string }

/**
 * The account of a live session, read in one statement, so that a ban, a closure or the end of a session acts at once.
 * `idleSeconds` is the time since the session was last recorded as seen.
 */
export async function findViewer({ sub, sid }: SessionToken): Promise<(Viewer & { idleSeconds: number }) | null> {
  const [found] = await db().$queryRaw<(Omit<Viewer, "sessionId"> & { idleSeconds: number })[]>`
    SELECT users.id, email, name, role, user_pictures.version AS picture,
      extract(epoch FROM now() - last_seen_at)::float8 AS "idleSeconds"
    FROM sessions JOIN users ON users.id = sessions.user_id LEFT JOIN user_pictures ON user_pictures.user_id = users.id
    WHERE sessions.id = ${sid}::uuid AND users.id = ${sub}::uuid AND status = 'active'
      AND sessions.created_at > now() - make_interval(secs => ${sessionMaxAgeSeconds})`
  if (!found || found.idleSeconds > maxIdleSeconds(found.role)) return null
  return { ...found, sessionId: sid }
}

export async function auditSignIn(userId: string, via: SignInMethod, address: string): Promise<void> {
  const details = { via, address }
  await audit(db(), { actorId: userId, action: "user.signed_in", targetType: "user", targetId: userId, details })
}

/** Who tried is unknown. An entry that cannot be written changes nothing for them. */
export async function auditFailedSignIn(
  userId: string,
  details: { via: SignInMethod; address: string; reason: "wrong" | "suspended" },
): Promise<void> {
  const entry = { actorId: null, action: "user.sign_in_failed", targetType: "user", targetId: userId, details } as const
  await audit(db(), entry).catch((error) => log().error({ why: String(error) }, "failed_sign_in_not_audited"))
}

export async function auditSignOut(userId: OwnerId): Promise<void> {
  await audit(db(), { actorId: userId, action: "user.signed_out", targetType: "user", targetId: userId })
}

/** Records that the session is in use, at most once a minute. */
export async function touchSession(sessionId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE sessions SET last_seen_at = now() WHERE id = ${sessionId}::uuid AND last_seen_at < now() - interval '1 minute'`
}

/**
 * Creates a session for an account that has just been authenticated, and deletes those that have expired. Undefined if
 * the account was banned or its password changed since it was read: both end all sessions, and this one would survive.
 */
export async function createSession(
  user: Pick<User, "id" | "passwordHash">,
  via: SignInMethod,
  headers: Headers,
): Promise<SessionToken | undefined> {
  const browser = browserOf(headers.get("user-agent"))
  const [created] = await db().$queryRaw<{ id: string }[]>`
    WITH expired AS (
      DELETE FROM sessions WHERE id IN (
        SELECT id FROM sessions WHERE created_at < now() - make_interval(secs => ${sessionMaxAgeSeconds})
        FOR UPDATE SKIP LOCKED)),
    account AS (
      SELECT id FROM users
      WHERE id = ${user.id}::uuid AND status = 'active' AND password_hash IS NOT DISTINCT FROM ${user.passwordHash}
      FOR SHARE)
    INSERT INTO sessions (id, user_id, via, address, browser)
    SELECT gen_random_uuid(), id, ${via}, ${clientAddress(headers)}, ${browser} FROM account
    RETURNING id`
  return created && { sub: user.id, sid: created.id }
}

export async function deleteSession({ sub, sid }: SessionToken): Promise<void> {
  await db().session.deleteMany({ where: { id: sid, userId: sub } })
}

export type ListedSession = {
  id: string
  via: string
  address: string
  browser: string
  createdAt: Date
  lastSeenAt: Date
  /** Whether it is the session of this request. */
  current: boolean
}

/** The live sessions of the viewer, this one first, then the last seen. */
export async function listSessions({ sessionId, ...account }: Omit<Viewer, "picture">): Promise<ListedSession[]> {
  const found = await liveSessions(account)
  const listed = found.map((session) => ({ ...session, current: session.id === sessionId }))
  return listed.sort((one, other) => Number(other.current) - Number(one.current))
}

/** The live sessions of an account, the last seen first. */
export function liveSessions({ id, role }: Pick<User, "id" | "role">): Promise<Omit<ListedSession, "current">[]> {
  return db().$queryRaw`
    SELECT id, via, address, browser, created_at AS "createdAt", last_seen_at AS "lastSeenAt"
    FROM sessions
    WHERE user_id = ${id}::uuid
      AND created_at > now() - make_interval(secs => ${sessionMaxAgeSeconds})
      AND last_seen_at > now() - make_interval(secs => ${maxIdleSeconds(role)})
    ORDER BY last_seen_at DESC LIMIT 100`
}

/** Ends the sessions of an account with this id, or with any other. Returns how many have ended. */
export function endSessions(userId: OwnerId, id: string | { not: string }): Promise<number> {
  return db().$transaction(async (transaction) => {
    const { count } = await transaction.session.deleteMany({ where: { userId, id } })
    const entry = { actorId: userId, action: "user.sessions_ended", targetType: "user", targetId: userId } as const
    if (count > 0) await audit(transaction, { ...entry, details: { count } })
    return count
  })
}

const knownBrowsers = new Set(Object.values(Bowser.BROWSER_MAP))

/** "Firefox on macOS". A client chooses its User-Agent, so only names that the library knows are kept. */
export function browserOf(userAgent: string | null): string {
  if (!userAgent) return "Unknown browser"
  const { browser, os } = Bowser.parse(userAgent.slice(0, 512))
  const name = browser.name && knownBrowsers.has(browser.name) ? browser.name : "Unknown browser"
  return os.name && Object.values(Bowser.OS_MAP).includes(os.name) ? `${name} on ${os.name}` : name
}
