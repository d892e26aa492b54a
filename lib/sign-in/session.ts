import { randomUUID } from "node:crypto"
import { cookies } from "next/headers"
import { forbidden, redirect } from "next/navigation"
import { connection } from "next/server"
import { decode, encode } from "next-auth/jwt"
import { cache } from "react"
import type { User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/accounts/owner"
import { env } from "@/lib/env"
import { holds, type Permission } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { deviceFor } from "./attempts"
import { cookieName, cookieOptions, sessionMaxAgeSeconds } from "./cookies"
import { sessionToken } from "./next-auth"

/** Who is signed in, as the database has them at this moment. */
export type Viewer = { id: OwnerId; email: string; name: string; role: string }

/**
 * The signed-in user, or `null`. The cookie only says who; the user is read again on every request, so that a ban, a
 * closed account, a role change, a new session version or a sign-out acts at once, on copies of the cookie too.
 */
export const currentViewer = cache(async (): Promise<Viewer | null> => {
  // `next build` tries every page, without an environment: what asks who is signed in is for requests only.
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

/** What the cookie says, if it is one of ours that has not ended. next-auth's own way also stumbles over other cookies. */
async function readSession(): Promise<Session | null> {
  const token = (await cookies()).get(cookieName("session"))?.value
  if (!token) return null
  const said = await decode({ token, secret: env().AUTH_SECRET }).catch(() => null)
  if (!said?.sub) return null
  return {
    id: String(said.jti),
    userId: said.sub,
    version: Number(said.version),
    expires: new Date(Number(said.exp) * 1000),
  }
}

/** For pages: sends who is not signed in to the sign-in page, and back to `path` afterwards. */
export async function requireViewer(path: string): Promise<Viewer> {
  return (await currentViewer()) ?? redirect(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
}

/** For pages: 403 for a viewer whose role lacks the permission. */
export async function requirePermission(path: string, permission: Permission): Promise<Viewer> {
  const viewer = await requireViewer(path)
  return holds(viewer.role, permission) ? viewer : forbidden()
}

/** Signs the browser in, and out of what it was signed in to: for the action that has just checked who it is. */
export async function startSession(user: Pick<User, "id" | "sessionVersion" | "email">): Promise<void> {
  await endSession()
  const jar = await cookies()
  const token = sessionToken(user)
  const value = await encode({ token, secret: env().AUTH_SECRET, maxAge: sessionMaxAgeSeconds })
  jar.set(cookieName("session"), value, { ...cookieOptions(), maxAge: sessionMaxAgeSeconds })
  jar.set(cookieName("device"), deviceFor(user.email, randomUUID()), { ...cookieOptions(), maxAge: 365 * 24 * 3600 })
}

/** The session cookies that the browser sends, the numbered parts included into which next-auth splits a long one. */
export async function sessionCookieNames(): Promise<string[]> {
  const name = cookieName("session")
  return (await cookies())
    .getAll()
    .map((cookie) => cookie.name)
    .filter((sent) => sent === name || sent.startsWith(`${name}.`))
}

/** Takes every session cookie out of the browser. */
export async function clearSessionCookies(): Promise<void> {
  const jar = await cookies()
  const names = new Set([cookieName("session"), ...(await sessionCookieNames())])
  for (const name of names) jar.set(name, "", { ...cookieOptions(), maxAge: 0 })
}

/** Signs the browser out. Its cookie goes whatever happens, and copies of it open nothing any more. */
export async function endSession(): Promise<void> {
  const session = await readSession()
  await clearSessionCookies()
  if (!session) return
  try {
    await db().$executeRaw`
      WITH over AS (DELETE FROM ended_sessions WHERE expires <= now())
      INSERT INTO ended_sessions (id, expires) VALUES (${session.id}, ${session.expires})
      ON CONFLICT DO NOTHING`
  } catch (error) {
    log().error({ why: String(error) }, "session_not_ended")
  }
}
