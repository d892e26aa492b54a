import { expect, test } from "vitest"
import { holds, type Permission, type Role, roleNames } from "@/lib/permissions"
import { createKey, createOrder, createUser } from "@/tests/support/factories"
import { GET } from "./route"

async function ask(accept: string, role: Role, scopes?: Permission[]): Promise<Response> {
  const { secret } = await createKey({ user: await createUser({ role }), surface: "admin", ...(scopes && { scopes }) })
  const url = "http://localhost:3000/api/v1/admin/stats?interval=month&since=2001-05-02&until=2001-05-02T10:00:00Z"
  return GET(new Request(url, { headers: { authorization: `Bearer ${secret}`, accept } }))
}

test.each<[Role, Permission[]?]>([
  ...roleNames.filter((role) => holds(role, "admin.access")).map((role): [Role] => [role]),
  ["owner", ["admin.access"]],
  ["owner", ["admin.access", "billing.read"]],
  ["support", ["admin.access"]],
])("a key of %s with the scopes %j reads money if role and scopes have billing.read", async (role, scopes) => {
  await createOrder({ userId: (await createUser()).id, amount: 4_321, createdAt: new Date("2001-05-02T09:00:00Z") })
  const reads = holds(role, "billing.read") && (scopes?.includes("billing.read") ?? true)
  const money = reads ? { revenue: expect.any(Array) } : { mrr: null, revenue: null, refunds: null }

  const { data, meta } = await (await ask("application/json", role, scopes)).json()
  expect([data[0], meta.summary]).toEqual(Array(2).fill(expect.objectContaining({ orders: data[0].orders, ...money })))
  if (reads) expect(data[0].revenue[0].amount).toBe(data[0].orders * 4_321)
  expect(data[0].orders).toBeGreaterThan(0)

  const [line = ""] = (await (await ask("application/x-ndjson", role, scopes)).text()).split("\n")
  expect(JSON.parse(line)).toMatchObject(money)
  const [names = "", cells = ""] = (await (await ask("text/csv", role, scopes)).text()).split("\r\n")
  const [before = ""] = names.split("mrr,revenue,refunds")
  const written = cells
    .split(",")
    .slice(before.split(",").length - 1)
    .join(",")
  expect(written.startsWith(",,,")).toBe(!reads)
})
