import { describe, expect, test } from "vitest"
import { permissions, roleNames } from "@/lib/permissions"
import { listedKey } from "@/tests/support/listed-key"
import type { ListedKey } from "./data"
import { findProblems, hasProblem, healthOf, keyStatus, type Problem, problemIn } from "./health"
import { mayGive, presetsOf, type Scope } from "./scopes"

const scopes = Object.keys(permissions).filter((name) => name === "admin.access" || name.endsWith(".read")) as Scope[]
const now = new Date("2026-06-15T12:00:00Z")
const offered = ["admin.access", "users.read"]
const { owner } = listedKey()
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000)

describe("the problems of a key", () => {
  test.each<[string, Partial<ListedKey>, Problem[]]>([
    ["a key in use that expires", {}, []],
    ["never used, created over 7 days ago", { createdAt: daysAgo(7.001), lastUsedAt: null }, ["never_used"]],
    ["never used, created 7 days ago", { createdAt: daysAgo(7), lastUsedAt: null }, []],
    ["used over 90 days ago", { lastUsedAt: daysAgo(90.001) }, ["unused"]],
    ["used 90 days ago", { lastUsedAt: daysAgo(90) }, []],
    ["without expiry", { expiresAt: null }, ["no_expiry"]],
    [
      "an admin key with every scope offered",
      { surface: "admin", scopes: [...offered, "audit.read"] },
      ["every_scope"],
    ],
    ["an admin key without scopes of its own", { surface: "admin", scopes: null }, ["every_scope"]],
    ["an admin key with fewer scopes", { surface: "admin", scopes: ["users.read"] }, []],
    ["a user key with every scope", { scopes: null }, []],
    ["of a banned owner", { owner: { ...owner, status: "banned" } }, ["owner_gone"]],
    ["of a closed owner", { owner: { ...owner, status: "closed" } }, ["owner_gone"]],
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

test("the form for an admin key preselects nothing, and of its presets only everything is a problem", () => {
  for (const role of roleNames) {
    const given = scopes.filter((scope) => mayGive(role, scope))
    const presets = presetsOf("admin", given)
    if (!presets) {
      expect(healthOf(listedKey({ surface: "admin", scopes: given }), given, now)).toEqual([])
      continue
    }
    const flagged = Object.entries(presets).filter(
      ([, preset]) => healthOf(listedKey({ surface: "admin", scopes: preset }), given, now).length > 0,
    )
    expect(flagged).toEqual([["Everything (not advised)", given]])
  }
  expect(Object.keys(presetsOf("admin", scopes) ?? {})).toContain("Finance")
  expect(presetsOf("user", ["read", "run"])).toBeNull()
})

test("keys are filtered by one problem or by any; other values are no filter", () => {
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

// "Active" is said only of a key whose requests are accepted.
test.each<[string, Partial<ListedKey>, string]>([
  ["without expiry", { expiresAt: null }, "Active"],
  ["that expires in over 14 days", { expiresAt: daysAgo(-14.51) }, "Active"],
  ["that expires in 14 days", { expiresAt: daysAgo(-14) }, "Expires in 14 days"],
  ["that expires in an hour", { expiresAt: daysAgo(-1 / 24) }, "Expires in 1 day"],
  ["that expired", { state: "expired" }, "Expired"],
  ["that expired after another had replaced it", { state: "expired", isReplaced: true }, "Replaced"],
  ["that was revoked", { state: "revoked" }, "Revoked"],
  ["of a banned account", { owner: { ...owner, status: "banned" } }, "Account banned"],
  ["of a closed account", { owner: { ...owner, status: "closed" } }, "Account closed"],
  ["of a closed account, revoked", { state: "revoked", owner: { ...owner, status: "closed" } }, "Revoked"],
  ["for the admin API, of a member", { surface: "admin", scopes: null }, "No permission left"],
  ["whose owner lost its permission", admin("finance", ["users.read"]), "No permission left"],
  ["whose owner lost one of its permissions", admin("finance", ["users.read", "billing.read"]), "Active"],
  ["with all permissions of its owner", admin("bookkeeper", null), "Active"],
])("the status of a key %s", (_what, key, expected) => {
  expect(keyStatus(listedKey(key), now).text).toBe(expected)
})

function admin(role: string, scopes: string[] | null): Partial<ListedKey> {
  return { surface: "admin", scopes, owner: { ...owner, role } }
}
