import { createHmac, randomUUID } from "node:crypto"
import { expect } from "vitest"
import type { User } from "@/generated/prisma/client"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import type { SessionToken } from "@/lib/sign-in/session-rows"
import {
  type BuiltAction,
  builtActions,
  callAction,
  type SentHeaders,
  sessionCookie,
  sessionOf,
} from "@/tests/support/client"
import { createKey, createSession, createUser } from "@/tests/support/factories"
import { inTurn } from "@/tests/support/sample"
import { server } from "@/tests/support/shared-server"
import { passwordHash } from "./forms"
import { holders, isHolder, roles } from "./tables"

// The callers: every kind of credential that is not accepted, and an account of each role.

export const actions = await builtActions()

export function actionOf(name: string): BuiltAction {
  return actions.find((candidate) => candidate.name === name) ?? expect.fail(`There is no action ${name}.`)
}

/** The credentials that a caller sends, and the account that they name. */
export type Caller = { headers: SentHeaders; account: User }

/** Callers whose credentials do not sign them in. Each account is an owner, so only the credentials can fail. */
export const unauthenticated: Callers = {
  "without credentials": () => unauthenticatedCaller(async () => ({})),
  "with a malformed session": () => unauthenticatedCaller(async () => ({ cookie: `${cookieName("session")}=x.y.z` })),
  "with a user key": () =>
    unauthenticatedCaller(async (user) => inAllHeaders(await createKey({ user, surface: "user" }))),
  "with an admin key": () =>
    unauthenticatedCaller(async (user) => inAllHeaders(await createKey({ user, surface: "admin" }))),
  "with a session encrypted with another secret": () =>
    unauthenticatedCaller(async (user) => ({
      cookie: await sessionCookie(await tokenOf(user), { secret: "x".repeat(40) }),
    })),
  "with an expired cookie": () =>
    unauthenticatedCaller(async (user) => ({ cookie: await sessionCookie(await tokenOf(user), { maxAge: -60 }) })),
  "with a session older than 90 days": () =>
    unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user, { createdAt: daysAgo(91) }) })),
  "with a session that was idle for more than a day, which is too long for a role that manages": () =>
    unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user, { lastSeenAt: daysAgo(1.1) }) })),
  "with a session that has ended": () =>
    unauthenticatedCaller(async (user) => {
      const token = await tokenOf(user)
      await db().session.delete({ where: { id: token.sid } })
      return { cookie: await sessionCookie(token) }
    }),
  "with the session of another account": () =>
    unauthenticatedCaller(async ({ id }) => ({
      cookie: await sessionCookie({ ...(await tokenOf(await createUser())), sub: id }),
    })),
  "with a signed-out session": () =>
    unauthenticatedCaller(async (user) => {
      const headers = { cookie: await sessionOf(user) }
      await callAction(server, actionOf("_shell signOut"), { path: "/account", headers })
      return headers
    }),
  "with an unknown session": () =>
    unauthenticatedCaller(async ({ id }) => ({ cookie: await sessionCookie({ sub: id, sid: randomUUID() }) })),
  "with the cookie of an earlier release": () =>
    unauthenticatedCaller(async ({ id }) => ({
      cookie: await sessionCookie({ sub: id, version: 0 } as unknown as SessionToken),
    })),
  "with an unsigned session": () =>
    unauthenticatedCaller(async (user) => ({ cookie: unencrypted(await tokenOf(user), "none") })),
  "with a session that is signed but not encrypted": () =>
    unauthenticatedCaller(async (user) => ({ cookie: unencrypted(await tokenOf(user), "HS256") })),
  banned: () => unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user) }), "banned"),
  closed: () => unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user) }), "closed"),
}

async function tokenOf(user: { id: string }): Promise<SessionToken> {
  return { sub: user.id, sid: (await createSession(user)).id }
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000)
}

export async function unauthenticatedCaller(
  headersOf: (account: User) => Promise<Record<string, string>>,
  status: User["status"] = "active",
): Promise<Caller> {
  const account = await createUser({ role: "owner", status, passwordHash })
  return { account, headers: await headersOf(account) }
}

/** Sends the secret as an API key and as a session cookie. */
function inAllHeaders({ secret }: { secret: string }): Record<string, string> {
  return { authorization: `Bearer ${secret}`, "x-api-key": secret, cookie: `${cookieName("session")}=${secret}` }
}

/** A session token with valid claims that is not encrypted. */
function unencrypted(token: SessionToken, algorithm: "none" | "HS256"): string {
  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const seconds = Math.floor(Date.now() / 1000)
  const content = `${json({ alg: algorithm })}.${json({ ...token, iat: seconds, exp: seconds + 3600 })}`
  const signature =
    algorithm === "none" ? "" : createHmac("sha256", env().AUTH_SECRET).update(content).digest("base64url")
  return `${cookieName("session")}=${content}.${signature}`
}

export async function ofRole(role: string, session: Parameters<typeof sessionOf>[1] = {}): Promise<Caller> {
  const account = await createUser({ role, passwordHash })
  return { account, headers: { cookie: await sessionOf(account, session) } }
}

export type Callers = Readonly<Record<string, () => Promise<Caller>>>

const callers: Callers = { ...unauthenticated, ...Object.fromEntries(roles.map((role) => [role, () => ofRole(role)])) }

/**
 * The callers of the page or form at this place of its table: without credentials, permitted and not permitted. In the
 * short form: one with a credential that is not accepted, and one of each kind of role.
 */
export function callersOf(access: string, place: number): [name: string, make: () => Promise<Caller>][] {
  const [nobody = "", ...refused] = Object.keys(unauthenticated)
  const isAllowed = (role: string) => access === "accounts" || (access in holders && isHolder(role, access))
  const names = [
    nobody,
    ...inTurn(refused, place),
    ...inTurn(roles.filter(isAllowed), place),
    ...inTurn(
      roles.filter((role) => !isAllowed(role)),
      place,
    ),
  ]
  return names.map((name) => [name, callers[name] ?? expect.fail(name)])
}
