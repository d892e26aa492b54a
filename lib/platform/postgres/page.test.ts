import { expect, test } from "vitest"
import { z } from "zod"
import { credits, id, timestamp } from "@/lib/platform/schemas/fields"
import { orderRow } from "@/lib/purchases/orders"
import { createOrder, createUser } from "@/tests/support/factories"
import { ownerDb, ownerPool } from "@/tests/support/owner"
import { listed } from "./listed"
import { findIn, type List, type Page, type Position } from "./page"
import { pool } from "./pool"

const start = Date.parse("2026-01-01T00:00:00Z")
const firstPage: Page = { limit: 10, offset: 0, order: "desc" }
const findOrders = listed("orders", orderRow)

test.each(["asc", "desc"] as const)(
  "reading a list by cursor, %s, returns every row that exists throughout exactly once, while others are created and deleted",
  async (order) => {
    const { id: userId } = await createUser()
    // Three rows share each timestamp, so the id decides their order.
    const create = (index: number) => createOrder({ userId, createdAt: new Date(start + Math.floor(index / 3) * 1000) })
    const kept: string[] = []
    const deleted: string[] = []
    for (let index = 0; index < 60; index++) (index % 4 === 0 ? deleted : kept).push((await create(index)).id)

    const seen: string[] = []
    let after: Position | undefined
    for (let step = 0; ; step++) {
      const page: Page = { limit: 7, offset: 0, order, ...(after && { after }) }
      const { rows } = await findOrders.page({ userId }, page)
      const shown = rows.slice(0, page.limit)
      seen.push(...shown.map(({ id }) => id))
      const last = shown.at(-1)
      if (rows.length <= page.limit || !last) break
      after = { value: new Date(last.createdAt), id: last.id }
      await ownerDb().order.delete({ where: { id: deleted[step] ?? expect.fail() } })
      await createOrder({ userId, createdAt: new Date(start + step * 1000) })
      await createOrder({ userId, createdAt: new Date(start - 1000) })
      await createOrder({ userId, createdAt: new Date(start + 60_000) })
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining(kept))
  },
)

test("under a costly condition, a large table counts a part and says so, and a small one counts all", async () => {
  const { id: userId } = await createUser()
  for (let count = 0; count < 5; count++) await createOrder({ userId })
  const read = (rows: number, counted: number) => {
    const conditions = { ofAccount: (given: string) => `user_id = ${given}` }
    const find = listed("orders", orderRow, { conditions, bounded: { conditions: ["ofAccount"], rows, counted } })
    return find.page({ ofAccount: userId }, { ...firstPage, limit: 4 })
  }
  expect(await read(0, 3)).toMatchObject({ total: 3, meta: { totalIsMinimum: true } })
  expect((await read(0, 3)).rows).toHaveLength(5)
  for (const [rows, counted] of [
    [1_000_000, 3],
    [0, 10],
  ] as const) {
    expect(await read(rows, counted)).toMatchObject({ total: 5, meta: {} })
  }
})

test("the rows and total of one page come from one snapshot", async () => {
  const { id: userId } = await createUser()
  await createOrder({ userId })
  const client = await ownerPool().connect()
  let writing = true
  const writer = (async () => {
    while (writing) {
      await client.query("BEGIN")
      await client.query(
        `INSERT INTO orders (id, user_id, kind, description, status, amount, currency)
         SELECT gen_random_uuid(), $1, 'credits', 'x', 'pending', 1, 'usd' FROM generate_series(1, 5)`,
        [userId],
      )
      await client.query("COMMIT")
      await client.query("DELETE FROM orders WHERE user_id = $1 AND status = 'pending'", [userId])
    }
  })()
  for (let round = 0; round < 100; round++) {
    const { rows, total } = await findOrders.page({ userId }, { limit: 500, offset: 0, order: "desc" })
    expect(rows.length).toBe(total)
  }
  writing = false
  await writer
  client.release()
})

test("the meta of a list comes from the same snapshot as its rows, and is present on an empty page", async () => {
  const { id: userId } = await createUser()
  const row = z.object({ id, userId: z.string(), createdAt: timestamp, paid: credits })
  const list: List<typeof row, { userId: string }> = {
    table: "orders",
    row,
    columns: { paid: "page.amount::bigint * 10000" },
    total: ({ userId }, { since }, bind) =>
      `(SELECT count(*) + 40 FROM orders WHERE user_id = ${bind(userId)} AND created_at >= ${bind(since)})`,
    meta: { user: ({ userId }, _range, bind) => `${bind(userId)}::text` },
  }
  const since = new Date(start)
  expect(await findIn(list).page({ userId }, { ...firstPage, since })).toEqual({
    rows: [],
    total: 40,
    meta: { user: userId },
  })
  const { id: orderId } = await createOrder({ userId, createdAt: new Date(start + 5), amount: 1_234_567 })
  await createOrder({ userId, createdAt: new Date(start - 5) })
  const { rows, ...rest } = await findIn(list).page({ userId }, { ...firstPage, since })
  expect(rest).toEqual({ total: 41, meta: { user: userId } })
  expect(rows.map((found) => row.parse(found))).toEqual([
    { id: orderId, userId, createdAt: "2026-01-01T00:00:00.005Z", paid: 12_345_670_000 },
  ])
})

test("a list reads only the fields of its row schema", async () => {
  const { id: userId } = await createUser({ passwordHash: "secret" })
  const row = z.object({ id, createdAt: timestamp })
  const { rows } = await findIn({ table: "users", row }).page({ id: userId }, firstPage)
  expect(rows.map((found) => Object.keys(found))).toEqual([["meta.total", "id", "createdAt"]])
})

test("a condition on an unknown field is refused, and an undefined value matches nothing", async () => {
  const { id: userId } = await createUser()
  await createOrder({ userId })
  const list: List<typeof orderRow, object> = { table: "orders", row: orderRow }
  for (const name of ['id" = id OR "id', "passwordHash", "constructor"]) {
    await expect(findIn(list).page({ [name]: userId }, firstPage)).rejects.toThrow("The list has no field")
  }
  expect(await findIn(list).page({ userId: undefined }, firstPage)).toMatchObject({ rows: [], total: 0 })
})

test("times are exact to the millisecond in every session time zone", async () => {
  const { id: userId } = await createUser()
  const times = [
    "2026-03-29T01:30:00.000Z",
    "2026-01-01T00:00:00.120Z",
    "1899-12-31T23:59:59.999Z",
    "0001-01-01T00:00:00.001Z",
  ]
  for (const time of times) await createOrder({ userId, createdAt: time })
  const clients = await Promise.all(Array.from({ length: pool().options.max }, () => pool().connect()))
  for (const zone of ["UTC", "Asia/Kolkata", "America/New_York", "Etc/GMT+12"]) {
    for (const client of clients) await client.query("SELECT set_config('TimeZone', $1, false)", [zone])
    for (const client of clients) client.release()
    const { rows } = await findOrders.page({ userId }, firstPage)
    expect(
      rows.map((row) => orderRow.parse(row).createdAt),
      zone,
    ).toEqual(times)
    for (let index = 0; index < clients.length; index++) clients[index] = await pool().connect()
  }
  for (const client of clients) client.release(true)
})
