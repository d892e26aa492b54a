import type { ListedKey } from "@/lib/keys/data"
import type { Predecessor } from "@/lib/keys/predecessor"
import { kinds } from "@/lib/surfaces"

/** A key of a list, for the rules of lists. It is not in the database. */
export function listedKey(overrides: Partial<ListedKey> = {}): ListedKey {
  return {
    id: "key",
    surface: "user",
    name: "Test key",
    start: `${kinds.user.prefix}abcd`,
    state: "active",
    createdAt: new Date("2026-01-01T00:00:00Z"),
    lastUsedAt: new Date("2026-06-01T00:00:00Z"),
    expiresAt: new Date("2027-01-01T00:00:00Z"),
    revokedAt: null,
    revocationReason: null,
    isReplaced: false,
    predecessor: null,
    owner: { id: "owner", email: "owner@example.com", role: "member", status: "active" },
    scopes: ["read", "run"],
    addresses: null,
    requestsPerMinute: null,
    spending: null,
    ...overrides,
  }
}

export function predecessorOf({ id, start, lastUsedAt, expiresAt }: ListedKey): Predecessor {
  return { id, start, lastUsedAt, expiresAt: expiresAt ?? new Date("2026-06-02T00:00:00Z"), use: "recent" }
}
