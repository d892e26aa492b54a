import { randomUUID } from "node:crypto"
import { cookies } from "next/headers"
import { forbidden, redirect } from "next/navigation"
import { connection } from "next/server"
import { decode, encode } from "next-auth/jwt"
import { cache } from "react"
import type { User } from "@/generated/prisma/client"
import type { Owner, OwnerId } from "@/lib/accounts/owner"
import { env } from "@/lib/env"
import { holds, type Permission } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { deviceFor } from "./attempts"
import { cookieName, cookieOptions, sessionMaxAgeSeconds } from "./cookies"
import { sessionToken } from "./next-auth"

/** The signed-in account, as read from the database for this request. */
export type Viewer = Owner

/**
 * The signed-in account, or `null`. The cookie only identifies it; the account is read on every request, so that a ban,
 * a closure, a role change, a new session version or a sign-out takes effect immediately, also for copies of the
 * cookie.
 */
export const currentViewer = cache(async (): Promise<Viewer | null> => {
  // `next build` prerenders pages without an environment; this defers a page with a session to the request.
  await connection()
  const session = await readSession()
  if (!session) return null
  const [user, ended] = await Promise.all([
    db().user.findUnique({ where: { id: session.userId } }),
    db().endedSession.findUnique({ where: { id: session.id } }),
  ])
  if (ended || user?.status !== "active" || user.sessionVersion !== session.version) return null
  return { id: user.id as OwnerId, email: user.email, name: user.name, role: user.role }
})

type Session = { id: string; userId: string; version: number; expires: Date }

/** The session in the cookie, if it is valid and has not expired. next-auth's own reader fails on unrelated cookies. */
async function readSession(): Promise<Session | null> {
  const token = (await cookies()).get(cookieName("session"))?.value
  if (!token) return null
  const payload = await decode({ token, secret: env().AUTH_SECRET }).catch(() => null)
  if (!payload?.sub) return null
  return {
    id: String(payload.jti),
    userId: payload.sub,
    version: Number(payload.version),
    expires: new Date(Number(payload.exp) * 1000),
  }
}

/** For pages: redirects an unauthenticated visitor to the sign-in page, which returns to `path`. */
export async function requireViewer(path: string): Promise<Viewer> {
  return (await currentViewer()) ?? redirect(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
}

/** For pages: responds with 403 if the viewer's role lacks the permission. */
export async function requirePermission(path: string, permission: Permission): Promise<Viewer> {
  const viewer = await requireViewer(path)
  return holds(viewer.role, permission) ? viewer : forbidden()
}

/** Starts a session for an account that has just been authenticated, and ends the browser's previous one. */
export async function startSession(user: Pick<User, "id" | "sessionVersion" | "email">): Promise<void> {
  await endSession()
  const jar = await cookies()
  const token = sessionToken(user)
  const value = await encode({ token, secret: env().AUTH_SECRET, maxAge: sessionMaxAgeSeconds })
  jar.set(cookieName("session"), value, { ...cookieOptions(), maxAge: sessionMaxAgeSeconds })
  jar.set(cookieName("device"), deviceFor(user.email, randomUUID()), { ...cookieOptions(), maxAge: 365 * 24 * 3600 })
}

/** The names of the cookies that next-auth takes for the session: every one that starts with its name. */
export async function sessionCookieNames(): Promise<string[]> {
  const name = cookieName("session")
  return (await cookies())
    .getAll()
    .filter((cookie) => cookie.name.startsWith(name) && cookie.value !== "")
    .map((cookie) => cookie.name)
}

export async function clearSessionCookies(): Promise<void> {
  const jar = await cookies()
  const names = new Set([cookieName("session"), ...(await sessionCookieNames())])
  for (const name of names) jar.set(name, "", { ...cookieOptions(), maxAge: 0 })
}

/** Signs the browser out. Its cookie is removed in any case, and copies of the cookie become invalid. */
export async function endSession(): Promise<void> {
  await revokeSession()
  await clearSessionCookies()
}

/** Makes the browser's session cookie and its copies invalid. */
export async function revokeSession(): Promise<void> {
  const session = await readSession()
  if (!session) return
  try {
    // Kept a little longer than the cookie is valid, because decoding tolerates clocks that differ by 15 s.
    await db().$executeRaw`
      WITH over AS (DELETE FROM ended_sessions WHERE expires <= now() - interval '1 minute')
      INSERT INTO ended_sessions (id, expires) VALUES (${session.id}, ${session.expires})
      ON CONFLICT DO NOTHING`
  } catch (error) {
    log().error({ why: String(error) }, "session_not_ended")
  }
}
