import { beforeAll, describe, expect, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { newSecret } from "@/lib/keys/secret"
import { cookieName } from "@/lib/platform/http/cookies"
import type { Surface } from "@/lib/surfaces"
import { anotherAddress, ask, builtPaths, type SentHeaders } from "@/tests/support/client"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { validBody } from "@/tests/support/run-intents"
import { inTurn, listeners } from "@/tests/support/sample"
import type { TestServer } from "@/tests/support/server"
import { server, startAnother } from "@/tests/support/shared-server"
import { ofRole } from "./callers"
import { isHolder, posted, questions, roles, routes, sameForAll } from "./tables"

// Requests every route with keys, without credentials, with and without the permission; `LONG=1` sends every kind of
// key and every role to each. app/api/v1/contract.test.ts sends every role to every endpoint.

const built = await builtPaths()
const table = await endpoints()

describe.each(listeners)("served by %s", (listener) => {
  let api: TestServer
  let callers: Record<Surface, Record<string, KeyHolder>>

  beforeAll(async () => {
    api = listener === "lean" ? server : await startAnother(listener)
    callers = { admin: await keyHolders("admin"), user: await keyHolders("user") }
    return () => (api === server ? undefined : api.stop())
  })

  test.each(
    Object.entries(routes)
      .filter(([path]) => built.routes.includes(path))
      .map(([path, access], place) => ({ path, access, place })),
  )("access to $path: $access", async ({ path, access: listedAccess, place }) => {
    const question = questions[path]
    const access = question?.access ?? listedAccess
    const surface = /^\/(api\/v1|mcp)\/admin/.test(path) ? "admin" : "user"
    const address = path.replace(/\[+\.\.\.path\]+/, "nothing").replace("[...nextauth]", "session")
    const endpoint = table.find((candidate) => candidate.path === path)
    const outcomes: Record<string, string> = {}
    const expected: Record<string, unknown> = {}
    for (const name of callersOf(access, place)) {
      const { headers, userId, search = "", refused } = callers[surface][name] ?? expect.fail(name)
      const body = endpoint ? await validBody(endpoint, userId) : posted[path]
      const sent = body ? { method: "POST", body: JSON.stringify(body) } : {}
      const given = { "content-type": "application/json", "x-forwarded-for": anotherAddress(), ...headers }
      const { status, text } = await ask(api, {
        ...sent,
        path: address + (search || question?.search || ""),
        headers: given,
      })
      outcomes[name] =
        status < 300 || !text.startsWith("{") ? String(status) : `${status} ${JSON.parse(text).error.code}`
      if (access === "sessions") expected[name] = name === signedIn ? "404" : "307"
      // A report with a query is refused before its keys are read.
      else if (access === "reporters" && search) expected[name] = "400 bad_request"
      // Within an API, a key that does not work is refused before the path.
      else if (address === "/mcp/nothing" && unusable.includes(name)) expected[name] = refused
      else expected[name] = sameForAll[access] ?? refused ?? (isHolder(name, access) ? "200" : "403 forbidden")
    }
    expect(outcomes).toEqual(expected)
  })
})

/** The names of the callers of the route at this place: without a key, refused, and with a role that may and may not call it. */
function callersOf(access: string, place: number): string[] {
  const may = (role: string) => access in sameForAll || access === "sessions" || isHolder(role, access)
  return [
    ...new Set([
      "without a key",
      ...(access === "sessions" ? [signedIn] : []),
      ...inTurn(refusals, place),
      ...inTurn(roles.filter(may), place),
      ...inTurn(
        roles.filter((role) => !may(role)),
        place,
      ),
    ]),
  ]
}

const unusable = ["with a key that was never issued", "with a revoked key", "with an expired key"]

/** The callers without a key that works. */
const refusals = [
  "with a malformed key",
  ...unusable,
  "with a session",
  "with a key as the session cookie",
  "with a key in the query",
  "with a key of the other surface",
  "banned",
  "closed",
  "banned, with a key of the other surface",
]

const signedIn = "with a session"

type KeyHolder = { headers: SentHeaders; userId?: string; search?: string; refused?: string }

/** The callers of an endpoint of a surface, with the refusal that a caller without a valid key gets. */
async function keyHolders(surface: Surface): Promise<Record<string, KeyHolder>> {
  const other = surface === "admin" ? "user" : "admin"
  const past = new Date(Date.now() - 1_000)
  const funded = async (account: object) => {
    const user = await createUser({ role: "owner", ...account })
    await grantCredits(user.id, 100)
    return user
  }
  const key = async (given: object = {}, account: object = {}, of: Surface = surface) =>
    (await createKey({ user: await funded(account), surface: of, ...given })).secret
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const valid = await key()
  const holding: Record<string, KeyHolder> = {
    "without a key": { headers: {}, refused: "401 unauthorized" },
    "with a malformed key": { headers: bearer("garbage"), refused: "401 unauthorized" },
    "with a key that was never issued": { headers: bearer(newSecret(surface)), refused: "401 unauthorized" },
    "with a revoked key": { headers: bearer(await key({ revokedAt: past })), refused: "401 unauthorized" },
    "with an expired key": { headers: bearer(await key({ expiresAt: past })), refused: "401 unauthorized" },
    [signedIn]: { headers: (await ofRole("owner")).headers, refused: "401 unauthorized" },
    "with a key as the session cookie": {
      headers: { cookie: `${cookieName("session")}=${valid}` },
      refused: "401 unauthorized",
    },
    "with a key in the query": { headers: {}, search: `?key=${valid}&api_key=${valid}`, refused: "401 unauthorized" },
    "with a key of the other surface": { headers: bearer(await key({}, {}, other)), refused: "403 wrong_scope" },
    banned: { headers: bearer(await key({}, { status: "banned" })), refused: "403 forbidden" },
    closed: { headers: bearer(await key({}, { status: "closed" })), refused: "403 forbidden" },
    "banned, with a key of the other surface": {
      headers: bearer(await key({}, { status: "banned" }, other)),
      refused: "403 wrong_scope",
    },
  }
  for (const role of roles) {
    const user = await funded({ role })
    holding[role] = { headers: { "x-api-key": (await createKey({ user, surface })).secret }, userId: user.id }
  }
  return holding
}
