import { expect, test } from "vitest"
import { createOrder, createUser } from "@/prisma/factories"
import { db, pool } from "./db"
import { findOrders } from "./orders"
import type { Page, Position } from "./page"

const start = Date.parse("2026-01-01T00:00:00Z")

test.each(["asc", "desc"] as const)(
  "a walk by cursor, %s, meets every row that stood throughout once, while rows come and go around it",
  async (order) => {
    const { id: userId } = await createUser()
    // Three rows share each moment, so that the id decides.
    const place = (index: number) => createOrder({ userId, createdAt: new Date(start + Math.floor(index / 3) * 1000) })
    const standing: string[] = []
    const leaving: string[] = []
    for (let index = 0; index < 60; index++) (index % 4 === 0 ? leaving : standing).push((await place(index)).id)

    const seen: string[] = []
    let after: Position | undefined
    for (let step = 0; ; step++) {
      const page: Page = { limit: 7, offset: 0, order, ...(after && { after }) }
      const { rows } = await findOrders({ userId }, page)
      const shown = rows.slice(0, page.limit)
      seen.push(...shown.map(({ id }) => id))
      const last = shown.at(-1)
      if (rows.length <= page.limit || !last) break
      after = { createdAt: last.createdAt, id: last.id }
      await db().order.delete({ where: { id: leaving[step] ?? expect.fail() } })
      await createOrder({ userId, createdAt: new Date(start + step * 1000) })
      await createOrder({ userId, createdAt: new Date(start - 1000) })
      await createOrder({ userId, createdAt: new Date(start + 60_000) })
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining(standing))
  },
)

test("rows and total of one answer come from one snapshot", async () => {
  const { id: userId } = await createUser()
  await createOrder({ userId })
  const client = await pool().connect()
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
    const { rows, total } = await findOrders({ userId }, { limit: 500, offset: 0, order: "desc" })
    expect(rows.length).toBe(total)
  }
  writing = false
  await writer
  client.release()
})
