import { randomUUID } from "node:crypto"
import { cookies, headers } from "next/headers"
import { forbidden, redirect } from "next/navigation"
import { after, connection, NextResponse } from "next/server"
import { encode } from "next-auth/jwt"
import { cache } from "react"
import { z } from "zod"
import type { User } from "@/generated/prisma/client"
import { holds, type Permission } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { deviceFor } from "./attempts"
import { decodeToken, signingSecret } from "./auth-secrets"
import { cookieName, cookieOptions, sessionMaxAgeSeconds } from "./cookies"
import {
  createSession,
  deleteSession,
  findViewer,
  type SessionToken,
  type SignInMethod,
  touchSession,
  type Viewer,
} from "./sessions"

export type { Viewer }

/**
 * The signed-in account, or `null`. The cookie only identifies the session; it is read with its account on every
 * request, so that a ban, a closure, a role change or the end of the session takes effect immediately, also for copies
 * of the cookie.
 */
export const currentViewer = cache(async (): Promise<Viewer | null> => {
  // `next build` prerenders pages without an environment; this defers a page with a session to the request.
  await connection()
  const token = await readSession()
  const found = token && (await findViewer(token))
  if (!found) return null
  const { idleSeconds, ...viewer } = found
  // After the response; a page is served even if the database cannot be written.
  if (idleSeconds > 60) after(() => touchSession(viewer.sessionId).catch(() => {}))
  return viewer
})

/** The session in the cookie, if it is valid and has not expired. next-auth's own reader fails on unrelated cookies. */
async function readSession(): Promise<SessionToken | null> {
  const token = (await cookies()).get(cookieName("session"))?.value
  if (!token) return null
  return sessionToken.safeParse(await decodeToken(token)).data ?? null
}

const sessionToken = z.object({ sub: z.uuid(), sid: z.uuid() })

/** For pages: redirects an unauthenticated visitor to the sign-in page, which returns to `path`. */
export async function requireViewer(path: string): Promise<Viewer> {
  return (await currentViewer()) ?? redirect(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
}

/** For pages: responds with 403 if the viewer's role lacks the permission. */
export async function requirePermission(path: string, permission: Permission): Promise<Viewer> {
  const viewer = await requireViewer(path)
  return holds(viewer.role, permission) ? viewer : forbidden()
}

/**
 * Starts a session for an account that has just been authenticated, and ends the browser's previous one. Returns false
 * if the account has changed since: see createSession.
 */
export async function startSession(user: User, via: SignInMethod): Promise<boolean> {
  await endSession()
  const token = await createSession(user, via, await headers())
  if (!token) return false
  const jar = await cookies()
  const value = await encode({ token, secret: signingSecret(), maxAge: sessionMaxAgeSeconds })
  jar.set(cookieName("session"), value, { ...cookieOptions(), maxAge: sessionMaxAgeSeconds })
  jar.set(...deviceCookie(user))
  return true
}

/**
 * Adds the `device` cookie to a response that starts a session. Next would rewrite the response's other cookies, and
 * forget that some are deleted, if this one were set through `cookies()`.
 */
export async function appendDeviceCookie(response: Response, sessionCookie: string): Promise<void> {
  const token = sessionCookie.slice(sessionCookie.indexOf("=") + 1, sessionCookie.indexOf(";"))
  const { sub } = sessionToken.parse(await decodeToken(token))
  const user = await db().user.findUniqueOrThrow({ where: { id: sub } })
  const { cookies, headers } = new NextResponse()
  cookies.set(...deviceCookie(user))
  for (const line of headers.getSetCookie()) response.headers.append("set-cookie", line)
}

function deviceCookie(user: Pick<User, "email" | "passwordHash">) {
  const options = { ...cookieOptions(), maxAge: 365 * 24 * 3600 }
  return [cookieName("device"), deviceFor(user, randomUUID()), options] as const
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

/** Signs the browser out. Its cookie is removed in any case. Returns whether copies of the cookie are invalid, too. */
export async function endSession(): Promise<boolean> {
  const isRevoked = await revokeSession()
  await clearSessionCookies()
  return isRevoked
}

/** Makes the browser's session cookie and its copies invalid. Returns false if the database cannot be written. */
export async function revokeSession(): Promise<boolean> {
  const token = await readSession()
  if (!token) return true
  try {
    await deleteSession(token)
    return true
  } catch (error) {
    log().error({ why: String(error) }, "session_not_ended")
    return false
  }
}
