import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { writeEntries } from "@/lib/request-log/write"
import { root } from "@/scripts/root"
import { ask, formOf, hiddenFields, type RawResponse, sameOriginHeaders } from "@/tests/support/client"
import { createKey, createUser, requestWith } from "@/tests/support/factories"
import { type PageAccess, pages } from "@/tests/support/pages"
import { inTurn } from "@/tests/support/sample"
import { server } from "@/tests/support/shared-server"
import { type Caller, callersOf, ofRole, unauthenticated } from "./callers"
import { holders, isHolder, landingPages, redirectedRoles, roles } from "./tables"

// Requests every page without credentials, with and without access; `LONG=1` sends every kind of credential to each.

/** Fills in the parameters of a page's path: the id of the caller's key or of another account, and an invalid token. */
async function addressOf(path: string, account: User): Promise<string> {
  const id = path.includes("[id]") ? await idFor(path, account) : ""
  return path.replace("[id]", id).replace("[token]", "x").replace("[surface]", "user")
}

async function idFor(path: string, user: User): Promise<string> {
  if (path.includes("/requests/")) return loggedRequestOf(user)
  if (!path.includes("/api-keys/")) return (await createUser()).id
  const surface = path.startsWith("/admin") ? "admin" : "user"
  return (await createKey({ user, surface })).key.id
}

async function loggedRequestOf(user: User): Promise<string> {
  const { key } = await createKey({ user, surface: "user" })
  const request = requestWith(key, { createdAt: new Date() })
  await writeEntries(pool(), [request])
  return request.id
}

test.each(pages.map(({ path, access }, place) => ({ path, access, place })))(
  "access to the page $path: $access",
  async ({ path, access, place }) => {
    const clear = `307 /sign-in/clear?callbackUrl=${encodeURIComponent("/")}`
    const outcomes: Record<string, string> = {}
    const expected: Record<string, unknown> = {}
    const forAll = access === "everyone" || access === "guests"
    for (const [name, make] of callersOf(access, place)) {
      const caller = await make()
      const address = await addressOf(path, caller.account)
      const signIn = `307 /sign-in?callbackUrl=${encodeURIComponent(access === "second step" ? "/" : address)}`
      const response = await load(address, caller)
      outcomes[name] = outcomeOf(response)
      if (!forAll && response.status === 200) expect(response.text, address).toContain(">Sign out<")
      const open = path === "/sign-in" && caller.headers.cookie ? clear : "200"
      expected[name] =
        access === "demo" ? "404" : roles.includes(name) ? expectedOf(path, access, name) : forAll ? open : signIn
    }
    expect(outcomes).toEqual(expected)
  },
)

function expectedOf(path: string, access: PageAccess, role: string): unknown {
  if (access === "guests" || access === "second step") return `307 ${landingPages[role] ?? "/admin"}`
  if (access === "everyone" || isHolder(role, access)) return "200"
  return redirectedRoles[path]?.includes(role) ? expect.stringMatching(/^307 \/admin\//) : "403"
}

function load(path: string, { headers }: Caller): Promise<RawResponse> {
  return ask(server, { path, headers: { ...sameOriginHeaders(), ...headers } })
}

function outcomeOf({ status, headers }: RawResponse): string {
  return [status, headers.get("location")].filter(Boolean).join(" ")
}

async function visit(path: string, caller: Caller): Promise<string> {
  return outcomeOf(await load(path, caller))
}

/** The pages and files about a key, below the page of its surface. */
const aboutKey = ["", "/report", "/report/json", "/report/csv", "/count"]

/** The roles that open the console's pages about a key of another account. */
const keysOfOthers = {
  "a customer's key": { surface: "user", role: "member", seenBy: "owner admin analyst" },
  "an analyst's admin key": { surface: "admin", role: "analyst", seenBy: "owner admin" },
  "an owner's admin key": { surface: "admin", role: "owner", seenBy: "owner" },
} as const

test.each(Object.entries(keysOfOthers).map(([what, key], turn) => ({ what, turn, ...key })))(
  "only the listed roles see the pages about $what; others get a 404, as for a missing key",
  async ({ turn, surface, role, seenBy }) => {
    const { key } = await createKey({ user: await createUser({ role }), surface })
    const outcomes: Record<string, string> = {}
    const expected: Record<string, string> = {}
    for (const [place, name] of [...roles, "banned"].entries()) {
      const caller = await (unauthenticated[name] ?? (() => ofRole(name)))()
      const mayIssue = holders["api_keys.manage"].split(" ").includes(name)
      for (const path of inTurn(aboutKey, place + turn)) {
        const call = `${name}, ${path}`
        const inConsole = await visit(`/admin/api-keys/${key.id}${path}`, caller)
        const inAccount = await visit(`/api-keys/${key.id}${path}`, caller)
        outcomes[call] = `${inConsole.slice(0, 3)} ${inAccount.slice(0, 3)}`
        expected[call] =
          name === "banned"
            ? "307 307"
            : seenBy.split(" ").includes(name)
              ? "200 404"
              : mayIssue
                ? "404 404"
                : "403 404"
      }
    }
    expect(outcomes).toEqual(expected)
  },
)

test("the response about a key of another account equals the response about a missing key", async () => {
  const { key } = await createKey({ user: await createUser(), surface: "user" })
  const { headers } = await ofRole("finance")
  for (const page of ["/api-keys", "/admin/api-keys"]) {
    for (const path of aboutKey) {
      const [other, none] = await Promise.all(
        [key.id, randomUUID()].map(async (id) => {
          const { status, text } = await ask(server, { path: `${page}/${id}${path}`, headers })
          return { status, text: text.replaceAll(id, "id").replaceAll(/nonce\\?"?[=:]\\?"[^"\\]+/g, "nonce") }
        }),
      )
      expect(other, `${page}${path}`).toEqual(none)
      expect(other?.status).toBe(404)
    }
  }
})

test.each([
  ["a ban", { status: "banned" }, { key: 403, page: 307 }],
  ["closing the account", { status: "closed" }, { key: 403, page: 307 }],
  ["a role change", { role: "member" }, { key: 403, page: 403 }],
  ["the end of the session", { sessions: { deleteMany: {} } }, { key: 200, page: 307 }],
] as const)("%s takes effect on the account's next request", async (_change, change, { key, page }) => {
  const { account, headers } = await ofRole("admin")
  const { secret } = await createKey({ user: account, surface: "admin" })
  const statuses = async () => ({
    key: (await ask(server, { path: "/api/v1/admin/users", headers: { "x-api-key": secret } })).status,
    page: (await ask(server, { path: "/admin/users", headers })).status,
  })
  expect(await statuses()).toEqual({ key: 200, page: 200 })
  const path = "/admin/api-keys?new"
  const fields = hiddenFields((await ask(server, { path, headers })).text, 'name="expires"')

  await db().user.update({ where: { id: account.id }, data: change })
  const body = formOf({ ...fields, name: "Too late", expires: "never", date: "", scopes: "users.read" })
  await ask(server, { method: "POST", path, body, headers: { ...sameOriginHeaders(), ...headers } })
  expect(await db().apiKey.count({ where: { userId: account.id } })).toBe(1)
  expect(await statuses()).toEqual({ key, page })
})

test("proxy.ts authorizes nothing: it reads neither sessions nor accounts", async () => {
  const files = await reachableFrom("proxy.ts")
  expect(files).toContain("lib/env.ts")
  expect(files.filter((file) => /next-auth|session|auth|permissions|\/db|pool|generated|\/api\//.test(file))).toEqual(
    [],
  )
})

/** A file and everything that it imports: package names, and paths relative to the root. */
async function reachableFrom(file: string, found = new Set<string>()): Promise<string[]> {
  if (found.has(file)) return []
  found.add(file)
  const source = await readFile(join(root, file), "utf8").catch(() => "")
  for (const [, name = ""] of source.matchAll(/(?:from|import|import\()\s*"([^"]+)"/g)) {
    const path = name.startsWith(".") ? join(dirname(file), name) : name.replace(/^@\//, "")
    await reachableFrom(path === name ? name : `${path}.ts`, found)
  }
  return [...found]
}
