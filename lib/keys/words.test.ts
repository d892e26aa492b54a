import { expect, test } from "vitest"
import { listedKey, predecessorOf } from "@/tests/support/listed-key"
import type { KeyLimits } from "./data"
import { limitsInWords, predecessorInWords, revocationInWords } from "./words"

const spending = { limit: 500, period: "month", spent: 50, held: 0, resetsAt: null } as const

test.each<[Partial<KeyLimits>, string]>([
  [{}, ""],
  [{ scopes: null }, ""],
  [{ scopes: ["read"] }, "read"],
  [{ spending }, "50 of 500 credits this month"],
  [{ spending: { ...spending, period: "never", limit: 1, held: 10 } }, "50 (+10 held) of 1 credit in total"],
  [{ spending: { ...spending, period: "day", limit: 1200 } }, "50 of 1,200 credits today"],
  [{ requestsPerMinute: 1 }, "1 request per minute"],
  [{ addresses: ["203.0.113.7/32"] }, "1 address"],
  [
    { scopes: ["read"], spending, requestsPerMinute: 60, addresses: ["203.0.113.0/24", "2001:db8::/32"] },
    "read · 50 of 500 credits this month · 60 requests per minute · 2 addresses",
  ],
])("the limits %j are %j", (limits, expected) => {
  expect(limitsInWords(listedKey(limits), ["read", "run"])).toBe(expected)
})

test("more than three scopes are counted", () => {
  const offered = ["a", "b", "c", "d", "e"]
  expect(limitsInWords(listedKey({ scopes: ["a", "b", "c"] }), offered)).toBe("a, b, c")
  expect(limitsInWords(listedKey({ scopes: ["a", "b", "c", "d"] }), offered)).toBe("4 permissions")
})

test.each([
  ["never", "the old key was never used"],
  ["successor_unused", "last used 2 hours ago; the new key was not used since"],
  ["recent", "last used 2 hours ago"],
  ["no_longer", "last used 2 hours ago; no longer used"],
] as const)("a replaced key whose use is %s: %s", (use, expected) => {
  const now = new Date("2026-06-15T12:00:00Z")
  const lastUsedAt = use === "never" ? null : new Date("2026-06-15T10:00:00Z")
  expect(predecessorInWords({ ...predecessorOf(listedKey()), lastUsedAt, use }, now)).toBe(expected)
})

test.each([
  ["not_needed", true, "Replaced"],
  ["not_needed", false, "No longer needed"],
  ["leaked", true, "It leaked"],
  [null, false, ""],
] as const)("the reason %s, of a key that was replaced: %s, is %j", (revocationReason, isReplaced, expected) => {
  expect(revocationInWords({ revocationReason, isReplaced })).toBe(expected)
})
