import { describe, expect, test } from "vitest"
import { listedKey } from "@/tests/support/listed-key"
import type { ListedKey } from "./data"
import { findProblems, hasProblem, healthOf, type Problem, problemIn } from "./health"

const now = new Date("2026-06-15T12:00:00Z")
const offered = ["admin.access", "users.read"]
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000)

describe("the problems of a key", () => {
  test.each<[string, Partial<ListedKey>, Problem[]]>([
    ["a key in use that expires", {}, []],
    ["never used, created 8 days ago", { createdAt: daysAgo(8), lastUsedAt: null }, ["never_used"]],
    ["never used, created 6 days ago", { createdAt: daysAgo(6), lastUsedAt: null }, []],
    ["used 91 days ago", { lastUsedAt: daysAgo(91) }, ["unused"]],
    ["used 89 days ago", { lastUsedAt: daysAgo(89) }, []],
    ["without expiry", { expiresAt: null }, ["no_expiry"]],
    [
      "an admin key with every scope offered",
      { surface: "admin", scopes: [...offered, "audit.read"] },
      ["every_scope"],
    ],
    ["an admin key without scopes of its own", { surface: "admin", scopes: null }, ["every_scope"]],
    ["an admin key with fewer scopes", { surface: "admin", scopes: ["users.read"] }, []],
    ["a user key with every scope", { scopes: null }, []],
    ["of a banned owner", { owner: { id: "1", email: "a@example.com", status: "banned" } }, ["owner_gone"]],
    ["of a closed owner", { owner: { id: "1", email: "a@example.com", status: "closed" } }, ["owner_gone"]],
    ["with several", { createdAt: daysAgo(30), lastUsedAt: null, expiresAt: null }, ["never_used", "no_expiry"]],
    ["revoked", { state: "revoked", expiresAt: null }, []],
    ["expired", { state: "expired", lastUsedAt: null }, ["expired"]],
    ["expired and replaced", { state: "expired", isReplaced: true }, []],
    ["that expires in 14 days", { expiresAt: daysAgo(-14) }, ["expiring"]],
    ["that expires in 15 days", { expiresAt: daysAgo(-15) }, []],
    ["replaced", { isReplaced: true, lastUsedAt: null }, []],
  ])("%s", (_what, key, expected) => {
    expect(healthOf(listedKey(key), offered, now)).toEqual(expected)
  })

  test("every scope is no problem where a role can give only one", () => {
    expect(healthOf(listedKey({ surface: "admin", scopes: ["billing.read"] }), ["billing.read"], now)).toEqual([])
  })
})

test("keys are filtered by one problem or by any; what is not a problem is no filter", () => {
  const keys = [
    listedKey({ id: "healthy" }),
    listedKey({ id: "forever", expiresAt: null }),
    listedKey({ id: "wide", surface: "admin", scopes: null }),
  ]
  const found = findProblems(keys, { admin: offered, user: [] }, now)
  const withProblem = (value: string) => {
    const filter = problemIn(value)
    return filter && keys.filter(({ id }) => hasProblem(found.get(id), filter)).map(({ id }) => id)
  }
  expect(withProblem("any")).toEqual(["forever", "wide"])
  expect(withProblem("no_expiry")).toEqual(["forever"])
  expect(withProblem("never_used")).toEqual([])
  for (const value of ["", "toString", "none"]) expect(withProblem(value)).toBeUndefined()
})
