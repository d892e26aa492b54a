import { expect, test } from "vitest"
import type { ListedKey } from "@/lib/keys/data"
import { listedKey } from "@/tests/support/listed-key"
import { keyStatus } from "./key-status"

const now = new Date("2026-06-15T12:00:00Z")
const { owner } = listedKey()
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)

// "Active" is said only of a key whose requests are accepted.
test.each<[string, Partial<ListedKey>, string]>([
  ["without expiry", { expiresAt: null }, "Active"],
  ["that expires in over 14 days", { expiresAt: inDays(14.51) }, "Active"],
  ["that expires in 14 days", { expiresAt: inDays(14) }, "Expires in 14 days"],
  ["that expires in an hour", { expiresAt: inDays(1 / 24) }, "Expires in 1 day"],
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
