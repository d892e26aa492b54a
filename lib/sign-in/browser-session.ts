import { randomUUID } from "node:crypto"
import { cookies, headers } from "next/headers"
import { forbidden, redirect } from "next/navigation"
import { after, connection, NextResponse } from "next/server"
import { encode } from "next-auth/jwt"
import { cache } from "react"
import { z } from "zod"
import type { User } from "@/generated/prisma/client"
import { restoreAccount } from "@/lib/accounts/deletion"
import { holds, type Permission } from "@/lib/permissions"
import { sendEmail } from "@/lib/platform/email/send"
import { cookieName, cookieOptions, sessionMaxAgeSeconds } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { deviceFor } from "./attempts"
import { decodeToken, signingSecret } from "./auth-secrets"
import { proofMinutes } from "./proof-minutes"
import {
  completeSignIn,
  createSession,
  deleteSession,
  discard,
  findPendingSignIn,
  findViewer,
  type PendingSignIn,
  recordFactor,
  recordProof,
  type SecondFactor,
  type SessionToken,
  type SignInMethod,
  type Step,
  touchSession,
  type Viewer,
} from "./session-rows"
import { hasPasskey } from "./two-factor/passkeys"

export type { Viewer }

/**
 * The session is read with its account on every request, so that a ban, a closure, a role change or the end of the
 * session takes effect immediately, also for copies of the cookie.
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

/** next-auth's own reader fails on unrelated cookies. */
async function readSession(): Promise<SessionToken | null> {
  const token = (await cookies()).get(cookieName("session"))?.value
  if (!token) return null
  return sessionToken.safeParse(await decodeToken(token)).data ?? null
}

const sessionToken = z.object({ sub: z.uuid(), sid: z.uuid(), proved: z.int().optional() })

export async function requireViewer(path: string): Promise<Viewer> {
  return (await currentViewer()) ?? redirect(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
}

export async function requirePermission(path: string, permission: Permission): Promise<Viewer> {
  const viewer = await requireViewer(path)
  if (holds(viewer.role, permission)) return viewer
  return holds(viewer.grantedRole, permission) ? redirect(setupPage) : forbidden()
}

export const setupPage = "/account/security/two-factor"

/** For an account that has just been authenticated. Returns false if it has changed since: see createSession. */
export async function startSession(
  user: User,
  via: SignInMethod,
  { path = "/", passkey }: { path?: string; passkey?: string } = {},
): Promise<boolean> {
  await endSession()
  const client = await headers()
  const started = await createSession(user, via, client)
  if (!started) return false
  // A removal at this moment ends the sessions that it sees; this one may not be among them.
  if (passkey && !(await hasPasskey(user.id, passkey))) {
    await discard(started)
    return false
  }
  if ("pending" in started) {
    const jar = await cookies()
    jar.set(...pendingCookie(started.pending))
    redirect(pageOfStep(started.step, path))
  }
  await setSession(user, started.session)
  return true
}

export async function setSession(user: User, token: SessionToken): Promise<void> {
  await setSessionCookie(token)
  const jar = await cookies()
  jar.set(...deviceCookie(user))
}

async function setSessionCookie(token: SessionToken): Promise<void> {
  const jar = await cookies()
  const value = await encode({ token, secret: signingSecret(), maxAge: sessionMaxAgeSeconds })
  jar.set(cookieName("session"), value, { ...cookieOptions(), maxAge: sessionMaxAgeSeconds })
}

export async function refreshSession(viewer: Viewer): Promise<Viewer | null> {
  const token = await recordProof(viewer)
  if (!token) return null
  await setSessionCookie(token)
  return { ...viewer, isFresh: true }
}

export function pageOfStep(step: Step, path: string): string {
  return step === "deletion" ? "/sign-in/deletion" : `/sign-in/confirm?${new URLSearchParams({ callbackUrl: path })}`
}

export type PendingOfBrowser = PendingSignIn & { token: string }

export async function pendingSignIn(): Promise<PendingOfBrowser | undefined> {
  const token = (await cookies()).get(cookieName("pending"))?.value
  const found = token && (await findPendingSignIn(token))
  return found ? { ...found, token } : undefined
}

/** Redirects if another step waits. @returns undefined if the sign-in has ended */
export async function confirmSignIn(pending: PendingOfBrowser, factor: SecondFactor): Promise<User | undefined> {
  await endSession()
  const user = await complete(pending, factor)
  if (user || !(await recordFactor(pending.token, factor))) return user
  const jar = await cookies()
  jar.set(...pendingCookie(pending.token))
  redirect(pageOfStep("deletion", "/"))
}

/** @returns undefined if the sign-in has ended */
export async function undoDeletion(pending: PendingOfBrowser): Promise<User | undefined> {
  const user = await db().user.findUniqueOrThrow({ where: { id: pending.userId } })
  if (await restoreAccount(user)) after(() => sendEmail(user, "deletion_undone", { byStaff: false }))
  return complete(pending, null)
}

export async function abandonSignIn(pending: { token: string; step: Step }): Promise<void> {
  await discard({ pending: pending.token, step: pending.step })
  await clearPendingCookie()
}

async function complete({ token, userId }: PendingOfBrowser, factor: SecondFactor | null): Promise<User | undefined> {
  const session = await completeSignIn(token, factor, await headers())
  if (!session) return undefined
  const user = await db().user.findUniqueOrThrow({ where: { id: userId } })
  await setSession(user, session)
  await clearPendingCookie()
  return user
}

async function clearPendingCookie(): Promise<void> {
  const jar = await cookies()
  jar.set(cookieName("pending"), "", { ...cookieOptions(), maxAge: 0 })
}

/** next-auth stores only sessions. A sign-in that waits keeps its token in the session's place; no reader accepts it as a session. */
export async function startedBy(sessionCookie: string): Promise<StartedByProvider> {
  const token = sessionCookie.slice(sessionCookie.indexOf("=") + 1, sessionCookie.indexOf(";"))
  return startedByProvider.parse(await decodeToken(token))
}

const startedByProvider = z.union([
  z.object({ pending: z.string(), step: z.enum(["factor", "deletion"]) }),
  sessionToken.transform((session) => ({ session })),
])

type StartedByProvider = z.output<typeof startedByProvider>

export async function appendDeviceCookie(response: Response, { sub }: SessionToken): Promise<void> {
  append(response, deviceCookie(await db().user.findUniqueOrThrow({ where: { id: sub } })))
}

export function appendPendingCookie(response: Response, token: string): void {
  append(response, pendingCookie(token))
}

/** `cookies()` would make Next rewrite the response's other cookies, and forget that some are deleted. */
function append(response: Response, cookie: ReturnType<typeof deviceCookie>): void {
  const { cookies, headers } = new NextResponse()
  cookies.set(...cookie)
  for (const line of headers.getSetCookie()) response.headers.append("set-cookie", line)
}

function pendingCookie(token: string) {
  return [cookieName("pending"), token, { ...cookieOptions(), maxAge: proofMinutes * 60 }] as const
}

function deviceCookie(user: User) {
  const options = { ...cookieOptions(), maxAge: 365 * 24 * 3600 }
  return [cookieName("device"), deviceFor(user, randomUUID()), options] as const
}

/** next-auth takes every cookie whose name starts with this one for the session. */
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

/** The cookie is removed in any case. Returns whether its copies are invalid, too. */
export async function endSession(): Promise<boolean> {
  const isRevoked = await revokeSession()
  await clearSessionCookies()
  return isRevoked
}

/** Also invalidates copies of the cookie. Returns false if the database cannot be written. */
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
