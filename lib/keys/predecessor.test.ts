import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { createKey, createViewer } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { listKeys } from "./data"
import { assessUse, type UsualUse } from "./predecessor"
import { rotateKey } from "./rotation"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const now = new Date("2026-06-15T12:00:00Z")

const ago = (ms: number | null) => (ms === null ? null : new Date(now.getTime() - ms))

// The recorded last use can be a minute too early.
test.each<[string, old: number | null, successor: number | null, usual: UsualUse | undefined, expected: string]>([
  ["never used", null, null, undefined, "never"],
  ["used, and its successor never", 3 * day, null, undefined, "successor_unused"],
  ["used after its successor", 3 * day, 4 * day, undefined, "successor_unused"],
  ["used at the time of its successor", 3 * day, 3 * day, undefined, "successor_unused"],
  ["without a history, silent for a day", day + minute, hour, undefined, "recent"],
  ["without a history, silent for longer than a day", day + minute + 1, hour, undefined, "no_longer"],
  ["with a history of hours", day + minute, hour, { spanMs: 23 * hour, longestGapMs: hour }, "recent"],
  ["used every hour, silent for two", 2 * hour + minute, hour, { spanMs: 9 * day, longestGapMs: hour }, "recent"],
  ["the same, for longer", 2 * hour + minute + 1, hour, { spanMs: 9 * day, longestGapMs: hour }, "no_longer"],
  ["used every week, silent for six days", 6 * day, hour, { spanMs: 28 * day, longestGapMs: 7 * day }, "recent"],
  ["the same, for eight days", 8 * day, hour, { spanMs: 28 * day, longestGapMs: 7 * day }, "no_longer"],
])("a replaced key that is %s", (_what, old, successor, usual, expected) => {
  expect(assessUse({ lastUsedAt: ago(old) }, { lastUsedAt: ago(successor) }, usual, now)).toBe(expected)
})

test("the list says that a replaced key is no longer used only after its longest gap by the log", async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const rotated = await rotateKey("user", user, { id: key.id, requestId: randomUUID(), grace: "7d" })
  const successor = rotated.ok ? rotated.id : ""
  const predecessor = async () => (await listKeys("user", user)).find(({ id }) => id === successor)?.predecessor
  const used = (id: string, since: string) =>
    pool().query("UPDATE api_keys SET last_used_at = now() - $2::interval WHERE id = $1", [id, since])
  expect(await predecessor()).toMatchObject({ id: key.id, start: key.start, use: "never" })
  await used(key.id, "3 hours")
  expect(await predecessor()).toMatchObject({ use: "successor_unused" })
  await used(successor, "1 hour")
  expect(await predecessor()).toMatchObject({ use: "recent" })
  // Every hour for two days, except for one time of three hours.
  await ownerPool().query(
    `INSERT INTO key_usage (unit, key_id, user_id, created_at, requests)
     SELECT 'hour', $1, $2, hour, 1 FROM generate_series(date_trunc('hour', now()) - interval '50 hours', date_trunc('hour', now()) - interval '3 hours', '1 hour') hour
     WHERE hour NOT BETWEEN now() - interval '22 hours' AND now() - interval '20 hours'`,
    [key.id, user.id],
  )
  expect(await predecessor()).toMatchObject({ use: "recent" })
  await used(key.id, "6 hours")
  expect(await predecessor()).toMatchObject({ use: "no_longer" })
})
