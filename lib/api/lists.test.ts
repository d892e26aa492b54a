import { expect, test } from "vitest"
import { z } from "zod"
import type { OwnerId } from "@/lib/authority/owner"
import { newSecret, startOf } from "@/lib/keys/secret"
import type { Permission } from "@/lib/permissions"
import { listed } from "@/lib/platform/postgres/listed"
import { pool } from "@/lib/platform/postgres/pool"
import { currencyCode, id } from "@/lib/platform/schemas/fields"
import { findOrders, orderRow, orderStatus } from "@/lib/purchases/orders"
import { createKey, createOrder, createUser } from "@/tests/support/factories"
import { adminList, userList } from "./lists"
import { time } from "./parameters"

test("a filter that is misspelled or has a different type than its column does not compile", () => {
  const row = { summary: "A test", permission: "billing.read", row: orderRow, find: findOrders } as const
  adminList({ ...row, filters: { status: orderStatus, userId: id } })
  // @ts-expect-error: orders have no column of this name
  adminList({ ...row, filters: { stauts: orderStatus } })
  // @ts-expect-error: an order's status is an enum value
  adminList({ ...row, filters: { status: z.string() } })
  // @ts-expect-error: a filter with a permission of its own is misspelled
  adminList({ ...row, filters: { status: orderStatus }, filterPermissions: { stauts: "users.read" } })
  // @ts-expect-error: every admin list names its permission
  adminList({ summary: "A test", row: orderRow, find: findOrders })
  expect(adminList(row).GET.endpoint.permission).toBe("billing.read")
})

test("a filter on a condition of the list compiles, and a misspelled one does not", () => {
  const row = { summary: "A test", permission: "billing.read", row: orderRow, find: findOrders } as const
  adminList({ ...row, filters: { planId: z.string(), paidSince: time(false) } })
  // @ts-expect-error: the list has no condition of this name
  adminList({ ...row, filters: { paidSinse: time(false) } })
  // @ts-expect-error: orders have no field of this name
  adminList({ ...row, sorts: ["price"] })
  const findPlain = listed("orders", orderRow)
  // @ts-expect-error: the list has no condition of this name
  adminList({ ...row, find: findPlain, filters: { paidSince: time(false) } })
})

test("a user list accepts filters on every column except the owner's", () => {
  const row = { summary: "A test", row: orderRow, find: findOrders } as const
  expect(userList({ ...row, filters: { status: orderStatus } }).GET.endpoint.parameters).toHaveProperty("status")
  // @ts-expect-error: the owner is always the key's owner
  userList({ ...row, filters: { userId: id } })
  // @ts-expect-error: orders have no column of this name
  userList({ ...row, filters: { stauts: orderStatus } })
})

test("a page reads the same user list as the API, with the same errors", async () => {
  const [user, otherUser] = [await createUser(), await createUser()]
  for (const status of ["paid", "pending", "paid"] as const) {
    const paidAt = status === "paid" ? new Date() : null
    await createOrder({ userId: user.id, status, paidAt })
    await createOrder({ userId: otherUser.id, status, paidAt })
  }
  const { GET } = userList({ summary: "A test", filters: { status: orderStatus }, row: orderRow, find: findOrders })
  const { secret } = await createKey({ user, surface: "user" })
  const search = "?status=paid&limit=1"
  const request = new Request(`http://localhost:3000/${search}`, { headers: { "x-api-key": secret } })
  const read = await GET.endpoint.read(user.id as OwnerId, search)
  expect(await (await GET(request)).json()).toEqual(read)
  expect(read).toMatchObject({ data: [{ userId: user.id, status: "paid" }], meta: { total: 2, limit: 1 } })
  await expect(GET.endpoint.read(user.id as OwnerId, `?userId=${otherUser.id}`)).rejects.toThrow(
    'Unknown parameter "userId". Accepted: limit, offset, since, until, order, cursor, fields, status.',
  )
})

test("a search for names, addresses and keys requires users.read of the key and its owner; one for an id does not", async () => {
  const { GET } = adminList({
    summary: "A test",
    permission: "billing.read",
    search: { table: "orders", account: "userId" },
    row: orderRow,
    find: findOrders,
  })
  const user = await createUser({ name: "Searched Person" })
  const { id: orderId } = await createOrder({ userId: user.id })
  const { key } = await createKey({ user, surface: "user" })
  const get = async (secret: string, q: string) => {
    const url = `http://localhost:3000/?q=${encodeURIComponent(q)}`
    const response = await GET(new Request(url, { headers: { "x-api-key": secret } }))
    return { status: response.status, body: await response.json() }
  }
  const owner = await createUser({ role: "owner" })
  const { secret: all } = await createKey({ user: owner, surface: "admin" })
  const { secret: scoped } = await createKey({ user: owner, surface: "admin", scopes: ["billing.read"] })
  const { secret: finance } = await createKey({ user: await createUser({ role: "finance" }), surface: "admin" })
  for (const q of [" searched PER", user.email, key.start, `${key.start}…`]) {
    expect((await get(all, q)).body.data, q).toMatchObject([{ id: orderId }])
    const [denied, lacking] = [await get(finance, q), await get(scoped, q)]
    expect(denied).toMatchObject({ status: 403, body: { error: { code: "forbidden" } } })
    expect(denied.body.error.message).toBe("The key owner lacks the permission users.read.")
    expect(lacking).toMatchObject({ status: 403, body: { error: { code: "missing_scope" } } })
    await expect(GET.endpoint.read(`?q=${encodeURIComponent(q)}`)).rejects.toThrow("needs the permission users.read")
  }
  for (const q of [orderId, user.id.toUpperCase()]) {
    for (const secret of [all, scoped, finance]) {
      expect((await get(secret, q)).body).toMatchObject({ data: [{ id: orderId }], meta: { total: 1 } })
    }
  }
  expect((await get(all, "nobody has this name")).body).toMatchObject({ data: [], meta: { total: 0 } })
})

test("the address of the account and filters with a permission of their own require it, and a short response leaves objects out of meta", async () => {
  const { GET } = adminList({
    summary: "A test",
    permission: "billing.read",
    filters: { status: orderStatus, currency: currencyCode },
    filterPermissions: { currency: "credits.read" },
    row: orderRow,
    meta: z.object({ more: z.object({ rows: z.int() }), rest: z.int() }),
    find: {
      ...findOrders,
      page: async (where, page) => ({ ...(await findOrders.page(where, page)), meta: { more: { rows: 0 }, rest: 0 } }),
    },
  })
  const user = await createUser()
  const { id } = await createOrder({ userId: user.id, currency: "xdy" })
  const owner = await createUser({ role: "owner" })
  const keyWith = async (...scopes: Permission[]) =>
    (await createKey({ user: owner, surface: "admin", scopes: ["billing.read", ...scopes] })).secret
  const get = async (search: string, secret: string, accept = "application/json") => {
    const headers = { "x-api-key": secret, accept }
    const response = await GET(new Request(`http://localhost:3000/?${search}`, { headers }))
    return { status: response.status, text: await response.text() }
  }
  const [little, all] = [await keyWith(), await keyWith("credits.read", "users.read")]
  for (const search of ["fields=email", "currency=xdy"]) {
    for (const accept of ["application/json", "text/csv"]) {
      expect((await get(search, little, accept)).status, search).toBe(403)
    }
    await expect(GET.endpoint.read(search)).rejects.toThrow("needs the permission")
  }
  const search = "currency=xdy&fields=status,email,id"
  const { data, meta } = JSON.parse((await get(`${search}&meta=short`, all)).text)
  expect(data).toEqual([{ status: "paid", email: user.email, id }])
  expect(meta).toEqual({ total: 1, limit: 100, offset: 0, nextCursor: null, rest: 0 })
  expect(JSON.parse((await get(search, all)).text).meta).toHaveProperty("more")
  expect((await get(search, all, "text/csv")).text).toBe(`status,email,id\r\npaid,${user.email},${id}\r\n`)
  expect((await get("currency=xdy", all)).text).not.toContain(user.email)
  const [names] = (await get("currency=xdy", all, "text/csv")).text.split("\r\n")
  expect(names?.split(",")).toEqual(Object.keys(orderRow.shape))
})

test("a search has 3 to 100 characters without counting accents, and contains no key", async () => {
  const { GET } = adminList({
    summary: "A test",
    permission: "users.read",
    search: { table: "orders", account: "userId" },
    row: orderRow,
    find: findOrders,
  })
  const read = (q: string) => GET.endpoint.read(`?q=${encodeURIComponent(q)}`, () => {})
  for (const q of ["", "ab", "  ab  ", "a\u0301b\u0301", "\u200Eab", "a\tb\tc", "x".repeat(101)]) {
    await expect(read(q), q).rejects.toThrow("q must have 3 to 100 characters, without control characters, got ")
  }
  const secret = newSecret("user")
  const start = startOf(secret)
  for (const q of [secret, `key ${secret}`, secret.slice(0, start.length + 4)]) {
    const refused = await read(q).catch((error: Error) => error.message)
    expect(refused).toMatch(/^q must not contain an API key: its first characters are enough, got "/)
    expect(refused).not.toContain(start)
  }
  for (const q of ["王小明", "x\u0301y\u0301z", "' OR '1'='1", "%_%", secret.slice(0, start.length + 3)]) {
    expect(await read(q), q).toMatchObject({ data: [], meta: { total: 0 } })
  }
})

test("a search with more than 10,000 matches is refused instead of returning some of them", async () => {
  const { GET } = adminList({
    summary: "A test",
    permission: "users.read",
    search: { table: "orders", account: "userId" },
    row: orderRow,
    find: findOrders,
  })
  const { id } = await createUser()
  for (let batch = 0; batch < 4; batch++) {
    await pool().query(
      `INSERT INTO orders (id, user_id, kind, description, status, amount, currency)
       SELECT gen_random_uuid(), $1, 'credits', 'x', 'pending', 1, 'usd' FROM generate_series(1, 2501)`,
      [id],
    )
  }
  await expect(GET.endpoint.read(`?q=${id}`)).rejects.toThrow("q has more than 10,000 matches: narrow the search.")
})
