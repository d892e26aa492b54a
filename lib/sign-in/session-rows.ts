import Bowser from "bowser"
import { Prisma, type User } from "@/generated/prisma/client"
import { maySignIn } from "@/lib/accounts/deletion"
import { audit } from "@/lib/audit/entries"
import type { Owner, OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { isStaff, maxIdleSeconds } from "@/lib/permissions"
import { sessionMaxAgeSeconds } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import { hasStandbys } from "@/lib/platform/postgres/standbys"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { hashOf, newToken } from "./link-token"
import { proofMinutes } from "./proof-minutes"

export type Viewer = Owner & {
  sessionId: string
  /** `role` is `member` for as long as the account lacks the second factor that this role needs. */
  grantedRole: string
  picture: string | null
  twoFactor: boolean
  isFresh: boolean
  /** Pages for staff read no older state of the database: see recordWrite. */
  written: number
}

export type SignInMethod =
  | "password"
  | "passkey"
  | "github"
  | "google"
  | "sign-up"
  | "password reset"
  | "password change"

export type SecondFactor = "app" | "recovery code" | "passkey"

/** Whether a sign-in proves the person. A provider may sign in anybody who has its cookies. */
const proving: Record<SignInMethod, boolean> = {
  password: true,
  passkey: true,
  "sign-up": true,
  "password reset": true,
  "password change": true,
  github: false,
  google: false,
}

const provingMethods = (Object.keys(proving) as SignInMethod[]).filter((via) => proving[via])

/** `proved`: time of the last proof, in milliseconds. An earlier copy of the cookie, maybe stolen, lacks the proof. */
export type SessionToken = { sub: string; sid: string; proved?: number | undefined }

type Found = Omit<Viewer, "sessionId" | "grantedRole"> & { idleSeconds: number }

/** Read in one statement, so that a ban, a closure or the end of a session acts at once. */
export async function findViewer({
  sub,
  sid,
  proved,
}: SessionToken): Promise<(Viewer & { idleSeconds: number }) | null> {
  const provedAt = proved === undefined ? null : new Date(proved)
  const [found] = await db().$queryRaw<Found[]>`
    SELECT users.id, email, name, role, two_factor AS "twoFactor", coalesce(written_lsn, 0)::float8 AS written,
      user_pictures.version AS picture,
      extract(epoch FROM now() - last_seen_at)::float8 AS "idleSeconds",
      coalesce(
        proved_at = ${provedAt}::timestamptz AND proved_at > now() - make_interval(mins => ${proofMinutes}), false
      ) AS "isFresh"
    FROM sessions JOIN users ON users.id = sessions.user_id LEFT JOIN user_pictures ON user_pictures.user_id = users.id
    WHERE sessions.id = ${sid}::uuid AND users.id = ${sub}::uuid AND status = 'active'
      AND sessions.created_at > now() - make_interval(secs => ${sessionMaxAgeSeconds})`
  if (!found || found.idleSeconds > maxIdleSeconds(found.role)) return null
  const { role: grantedRole, ...viewer } = found
  const role = needsFactor(grantedRole) && !viewer.twoFactor ? "member" : grantedRole
  return { ...viewer, role, grantedRole, sessionId: sid }
}

export async function touchSession(sessionId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE sessions SET last_seen_at = now() WHERE id = ${sessionId}::uuid AND last_seen_at < now() - interval '1 minute'`
}

/** Call it after the commit, so that the position in the log of the primary includes the changes of the form. */
export async function recordWrite({ sessionId, role }: Viewer): Promise<void> {
  if (!hasStandbys() || !isStaff(role)) return
  // The form has acted: without the position, a page can show a state of the last seconds.
  await db().$executeRaw`
    UPDATE sessions SET written_lsn = pg_current_wal_insert_lsn() - '0/0' WHERE id = ${sessionId}::uuid`.catch(() => {})
}

export type Step = "factor" | "deletion"

export function needsFactor(role: string): boolean {
  return env().STAFF_MFA === "required" && isStaff(role)
}

export type Started = { session: SessionToken } | { pending: string; step: Step }

/** A passkey is both factors, and the form that changes the password has asked for the second one. */
const needsConfirmation = (via: Prisma.Sql) => Prisma.sql`two_factor AND ${via} NOT IN ('passkey', 'password change')`

/**
 * For an account that has just been authenticated. Undefined if the account was banned or its password changed since it
 * was read: both end all sessions, and this one would survive. The same statement reads whether a step is needed, so no
 * way in can forget it.
 */
export async function createSession(
  user: Pick<User, "id" | "passwordHash">,
  via: SignInMethod,
  headers: Headers,
): Promise<Started | undefined> {
  const token = newToken()
  type Created = { step: Step } | { step: null; id: string; provedAt: Date | null }
  const [created] = await db().$queryRaw<Created[]>`
    WITH expired AS (
      DELETE FROM sessions WHERE id IN (
        SELECT id FROM sessions WHERE created_at < now() - make_interval(secs => ${sessionMaxAgeSeconds})
        FOR UPDATE SKIP LOCKED)),
    expired_sign_ins AS (
      DELETE FROM pending_sign_ins WHERE token IN (
        SELECT token FROM pending_sign_ins WHERE expires_at < now() LIMIT 1000 FOR UPDATE SKIP LOCKED)),
    account AS (
      SELECT id, CASE WHEN ${needsConfirmation(Prisma.sql`${via}`)} THEN 'factor' WHEN status = 'closed' THEN 'deletion' END AS step
      FROM users
      WHERE id = ${user.id}::uuid AND ${maySignIn} AND password_hash IS NOT DISTINCT FROM ${user.passwordHash}
      FOR SHARE),
    pending AS (
      INSERT INTO pending_sign_ins (token, user_id, via, expires_at)
      SELECT ${hashOf(token)}, id, ${via}, now() + make_interval(mins => ${proofMinutes})
      FROM account WHERE step IS NOT NULL),
    session AS (
      INSERT INTO sessions (id, user_id, via, address, browser, proved_at)
      SELECT gen_random_uuid(), id, ${via}, ${clientAddress(headers)}, ${browserOf(headers.get("user-agent"))},
        CASE WHEN ${proving[via]} THEN now() END
      FROM account WHERE step IS NULL
      RETURNING id, proved_at)
    SELECT step, session.id, session.proved_at AS "provedAt" FROM account LEFT JOIN session ON true`
  if (!created) return undefined
  if (created.step) return { pending: token, step: created.step }
  return { session: tokenOf(user.id, created.id, created.provedAt) }
}

export type PendingSignIn = {
  userId: string
  email: string
  via: SignInMethod
  factor: SecondFactor | null
  step: Step
}

const unconfirmed = Prisma.sql`factor IS NULL AND ${needsConfirmation(Prisma.sql`via`)}`

/** A ban, a new password or a new factor ends it. */
export async function findPendingSignIn(token: string): Promise<PendingSignIn | undefined> {
  const [found] = await db().$queryRaw<PendingSignIn[]>`
    SELECT user_id AS "userId", email, via, factor, CASE WHEN ${unconfirmed} THEN 'factor' ELSE 'deletion' END AS step
    FROM pending_sign_ins JOIN users ON users.id = user_id
    WHERE token = ${hashOf(token)} AND expires_at > now() AND ${maySignIn} AND (${unconfirmed} OR status = 'closed')`
  return found
}

export async function recordFactor(token: string, factor: SecondFactor): Promise<boolean> {
  const recorded = await db().$executeRaw`
    UPDATE pending_sign_ins SET factor = ${factor}, expires_at = now() + make_interval(mins => ${proofMinutes})
    FROM users
    WHERE users.id = user_id AND token = ${hashOf(token)} AND expires_at > now() AND status = 'closed' AND ${maySignIn}`
  return recorded === 1
}

/** @param factor the confirmed one; null if an earlier step confirmed it, or none is needed */
export async function completeSignIn(
  token: string,
  factor: SecondFactor | null,
  headers: Headers,
): Promise<SessionToken | undefined> {
  // Locks the account first, as each end of pending sign-ins does. The last proof made or renewed a sign-in that waits.
  const [created] = await db().$queryRaw<{ userId: string; id: string; provedAt: Date | null }[]>`
    WITH account AS (
      SELECT users.id FROM users JOIN pending_sign_ins ON user_id = users.id
      WHERE token = ${hashOf(token)} AND expires_at > now() AND status = 'active'
        AND (${factor}::text IS NOT NULL OR NOT (${unconfirmed}))
      FOR SHARE OF users),
    confirmed AS (
      DELETE FROM pending_sign_ins USING account WHERE token = ${hashOf(token)} AND user_id = account.id
      RETURNING user_id, via, coalesce(${factor}, factor) AS factor,
        CASE WHEN ${factor}::text IS NOT NULL THEN now() ELSE expires_at - make_interval(mins => ${proofMinutes}) END AS proved_at)
    INSERT INTO sessions (id, user_id, via, factor, address, browser, proved_at)
    SELECT gen_random_uuid(), user_id, via, factor, ${clientAddress(headers)}, ${browserOf(headers.get("user-agent"))},
      CASE WHEN factor IS NOT NULL OR via = ANY(${provingMethods}) THEN proved_at END
    FROM confirmed
    RETURNING user_id AS "userId", id, proved_at AS "provedAt"`
  return created && tokenOf(created.userId, created.id, created.provedAt)
}

export async function discard(started: Started): Promise<void> {
  if ("session" in started) await deleteSession(started.session)
  else await db().pendingSignIn.deleteMany({ where: { token: hashOf(started.pending) } })
}

export async function recordProof({ id, sessionId }: Viewer): Promise<SessionToken | undefined> {
  const [proved] = await db().$queryRaw<{ provedAt: Date }[]>`
    UPDATE sessions SET proved_at = now() WHERE id = ${sessionId}::uuid AND user_id = ${id}::uuid
    RETURNING proved_at AS "provedAt"`
  return proved && tokenOf(id, sessionId, proved.provedAt)
}

function tokenOf(sub: string, sid: string, provedAt: Date | null): SessionToken {
  return { sub, sid, proved: provedAt?.getTime() }
}

export async function deleteSession({ sub, sid }: SessionToken): Promise<void> {
  await db().session.deleteMany({ where: { id: sid, userId: sub } })
}

export type ListedSession = {
  id: string
  via: string
  factor: string | null
  address: string
  browser: string
  createdAt: Date
  lastSeenAt: Date
  current: boolean
}

export async function listSessions({
  id,
  grantedRole,
  sessionId,
}: Pick<Viewer, "id" | "grantedRole" | "sessionId">): Promise<ListedSession[]> {
  const found = await liveSessions({ id, role: grantedRole })
  const listed = found.map((session) => ({ ...session, current: session.id === sessionId }))
  return listed.sort((one, other) => Number(other.current) - Number(one.current))
}

export function liveSessions({ id, role }: Pick<User, "id" | "role">): Promise<Omit<ListedSession, "current">[]> {
  return db().$queryRaw`
    SELECT id, via, factor, address, browser, created_at AS "createdAt", last_seen_at AS "lastSeenAt"
    FROM sessions
    WHERE user_id = ${id}::uuid
      AND created_at > now() - make_interval(secs => ${sessionMaxAgeSeconds})
      AND last_seen_at > now() - make_interval(secs => ${maxIdleSeconds(role)})
    ORDER BY last_seen_at DESC LIMIT 100`
}

export function endSessions(userId: OwnerId, id: string | { not: string }): Promise<number> {
  return db().$transaction(async (transaction) => {
    const { count } = await transaction.session.deleteMany({ where: { userId, id } })
    const entry = { actorId: userId, action: "user.sessions_ended", targetType: "user", targetId: userId } as const
    if (count > 0) await audit(transaction, { ...entry, details: { count } })
    return count
  })
}

const knownBrowsers = new Set(Object.values(Bowser.BROWSER_MAP))

/** A client chooses its User-Agent, so only names that the library knows are kept. */
export function browserOf(userAgent: string | null): string {
  if (!userAgent) return "Unknown browser"
  const { browser, os } = Bowser.parse(userAgent.slice(0, 512))
  const name = browser.name && knownBrowsers.has(browser.name) ? browser.name : "Unknown browser"
  return os.name && Object.values(Bowser.OS_MAP).includes(os.name) ? `${name} on ${os.name}` : name
}
