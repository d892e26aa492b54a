import { expect, test } from "vitest"
import { z } from "zod"
import type { OwnerId } from "@/lib/accounts/owner"
import { createKey, createOrder, createUser } from "@/tests/support/factories"
import { id } from "../fields"
import { orderRow, orderStatus } from "../orders"
import { listed } from "../postgres/listed"
import { adminList, userList } from "./lists"

const findOrders = listed("orders", orderRow)

test("a filter that is misspelled or has a different type than its column does not compile", () => {
  const row = { summary: "A test", permission: "billing.read", row: orderRow, find: findOrders } as const
  adminList({ ...row, filters: { status: orderStatus, userId: id } })
  // @ts-expect-error: orders have no column of this name
  adminList({ ...row, filters: { stauts: orderStatus } })
  // @ts-expect-error: an order's status is an enum value
  adminList({ ...row, filters: { status: z.string() } })
  // @ts-expect-error: every admin list names its permission
  adminList({ summary: "A test", row: orderRow, find: findOrders })
  expect(adminList(row).GET.endpoint.permission).toBe("billing.read")
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
    'Unknown parameter "userId". Accepted: limit, offset, since, until, order, cursor, status.',
  )
})
