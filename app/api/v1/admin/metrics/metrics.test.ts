import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, expect, onTestFinished, test } from "vitest"
import { bounds } from "@/lib/metrics/parts"
import { holds, type Permission, type Role, roles } from "@/lib/permissions"
import { csvLine } from "@/lib/platform/text/csv"
import { seed } from "@/prisma/seed"
import { root } from "@/scripts/root"
import { createKey, createOrder, createUser } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { endpoints } from "../../endpoints"
import { GET } from "./route"

// The endpoint's guarantees, except its numbers: lib/metrics/ask.test.ts and questions.test.ts compare them with SQL.

const now = new Date("2026-06-15T00:00:00Z")
const range = "since=2026-01-01&until=2026-06-14"
const families = GET.endpoint.families ?? []

let owner: string

beforeAll(async () => {
  await seed(ownerPool(), { users: 100, now })
  owner = await keyOf("owner")
})

async function keyOf(role: Role, scopes?: Permission[]): Promise<string> {
  return (await createKey({ user: await createUser({ role }), surface: "admin", ...(scopes && { scopes }) })).secret
}

async function ask(request: string, key = owner) {
  const url = `http://localhost:3000/api/v1/admin/metrics?${request}`
  const response = await GET(new Request(url, { headers: { authorization: `Bearer ${key}` } }))
  return { status: response.status, body: await response.json() }
}

test("each family is declared in the file of its endpoint, and nowhere else", async () => {
  const counted = (await endpoints()).filter(({ metrics }) => metrics)
  expect(families).toHaveLength(counted.length)
  for (const { path, metrics, permission } of counted) {
    expect(families.find(({ family }) => family === metrics)?.permission, path).toBe(permission)
  }
  const sources = ["app", "components", "lib", "scripts", "server"].flatMap((folder) =>
    readdirSync(join(root, folder), { encoding: "utf8", recursive: true }).map((name) => `${folder}/${name}`),
  )
  const declaring = sources
    .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
    .filter((file) => /(?<!function )\bfamily(<\w*>)?\(/.test(readFileSync(join(root, file), "utf8")))
  expect(declaring.sort()).toEqual(counted.map(({ path }) => `app${path}/route.ts`).sort())
})

test.each(families.map(({ family, permission }) => ({ name: family.name, permission, family })))(
  "the family $name requires $permission, of the role and of the key, and returns its definitions",
  async ({ family, permission }) => {
    // The first measure requires nothing else.
    const [[name, measure] = [""]] = Object.entries(family.measures)
    const request = `measure=${name}&${range}`
    for (const role of Object.keys(roles) as Role[]) {
      const { status, body } = await ask(request, await keyOf(role))
      expect([role, status]).toEqual([role, holds(role, permission) ? 200 : 403])
      if (status === 200) expect(body.meta.definitions).toEqual({ [name]: `${measure?.definition} (${measure?.unit})` })
    }
    const others: Permission[] = permission === "users.read" ? ["billing.read"] : ["users.read"]
    expect((await ask(request, await keyOf("owner", others))).body.error.code).toBe("missing_scope")
    expect((await ask(request, await keyOf("owner", [permission]))).status).toBe(200)
  },
)

test.each([
  "measure=signups,accounts&by=month",
  "measure=gross,orders&by=plan&sort=gross",
  "measure=retained&by=cohort&cohort=month",
  "measure=orders&plan=none",
])("?%s as a stream has the rows of all pages", async (question) => {
  const { body } = await ask(`${question}&${range}&limit=500`)
  const stream = async (accept: string, more = "") => {
    const headers = { authorization: `Bearer ${owner}`, accept }
    const url = `http://localhost:3000/api/v1/admin/metrics?${question}&${range}${more}`
    return await GET(new Request(url, { headers }))
  }
  const lines = (await (await stream("application/x-ndjson")).text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([...body.data, { meta: { total: body.meta.total } }])
  const response = await stream("text/csv")
  const columns = [...new Set(["id", ...body.data.flatMap(Object.keys)])]
  const rows = body.data.map((row: Record<string, unknown>) => columns.map((column) => row[column]))
  expect(await response.text()).toBe([columns, ...rows].map(csvLine).join(""))
  expect((await stream("text/csv", "&limit=2")).status).toBe(400)
})

test("no two families have a measure of the same name, because the name identifies the measure", () => {
  const names = families.flatMap(({ family }) => Object.keys(family.measures))
  expect(new Set(names).size).toBe(names.length)
})

test.each<[string, Role, number]>([
  ["measure=gross&by=plan", "finance", 200],
  ["measure=gross&by=account", "finance", 403],
  [`measure=gross&account=${randomUUID()}`, "finance", 403],
  ["measure=signups&by=cohort", "support", 200],
  ["measure=signups,subscribed&by=cohort", "support", 403],
  ["measure=revenue&cohort=month", "support", 403],
  ["measure=revenue&cohort=month", "analyst", 200],
])("%s as %s returns %i", async (request, role, status) => {
  expect((await ask(`${request}&${range}`, await keyOf(role))).status).toBe(status)
})

test.each([
  ["", "measure is required: "],
  ["measure=signups", "since and until are required"],
  [`measure=profit&${range}`, "measure must be one or more measures of one family: "],
  [`measure=signups,gross&${range}`, "; accounts (signups, accounts, "],
  [
    `measure=accounts&by=plan&${range}`,
    "by must be at most 3 dimensions of accounts: one of day, week, month; status, role, cohort.",
  ],
  [`measure=signups&by=day,month&${range}`, "one of day, week, month"],
  [`measure=gross&by=month,plan,kind,status&${range}`, "by must be at most 3"],
  [`measure=balances&by=below&${range}`, "by must be"],
  [`measure=accounts&plan=pro&${range}`, "accounts cannot be filtered by plan. Possible: status, role, cohort."],
  [`measure=accounts,revenue&currency=usd&${range}`, "cannot be filtered by currency. Possible: cohort."],
  [`measure=signups&status=paid&${range}`, "status must be one of active, banned, closed"],
  [`measure=signups&cohort=week&${range}`, "month of sign-up, like 2026-01, or month"],
  [`measure=gross&cohort=month&${range}`, "by must be at most 3 dimensions of"],
  [`measure=signups&by=month&sort=role&${range}`, "sort must be one of month, signups."],
  ["measure=accounts&by=role&since=2026-01-01T12:00Z&until=2026-01-02", undefined],
  [
    `measure=requests&by=route,key&${range}`,
    "cannot be split and filtered by route and key. Dimensions that go together: surface, route, status; or key, account, email.",
  ],
  ["measure=requests&by=route&since=2026-01-01T12:00Z&until=2026-01-02", "whole days (UTC)"],
  ["measure=requests&by=key&since=2026-01-01T12:00Z&until=2026-01-02", "whole days (UTC)"],
  ["measure=signups&by=day&since=2000-01-01&until=2026-01-01", "more than 4000 periods"],
  ["measure=orders&by=day,account&since=2016-01-02&until=2026-12-01", "more than 100000 rows"],
])("?%s is refused, and the message names the possible values", async (request, message) => {
  const { status, body } = await ask(request)
  if (message === undefined) return expect(status).toBe(200)
  expect([status, body.error?.message]).toEqual([400, expect.stringContaining(message)])
})

test("cohort=month numbers the months since sign-up, for the accounts that signed up in the range", async () => {
  const { body } = await ask(`measure=accounts,revenue&cohort=month&since=2026-03-01&until=2026-06-14&limit=500`)
  const months = (cohort: string, currency: unknown) =>
    body.data
      .filter((row: Record<string, unknown>) => row.cohort === cohort && row.currency === currency)
      .map(({ createdAt, monthsSinceSignUp }: Record<string, string>) => [createdAt?.slice(0, 7), monthsSinceSignUp])
  expect(months("2026-04", null)).toEqual([
    ["2026-04", 0],
    ["2026-05", 1],
    ["2026-06", 2],
  ])
  expect(new Set(body.data.map(({ cohort }: { cohort: string }) => cohort))).toEqual(
    new Set(["2026-03", "2026-04", "2026-05", "2026-06"]),
  )
  for (const row of body.data) {
    expect(Object.keys(row)).toEqual(
      ["id", "createdAt", "monthsSinceSignUp", "cohort", "currency"].concat(row.currency ? "revenue" : "accounts"),
    )
  }
  expect(body.meta.total).toBe(body.data.length)
})

test("the first rows by a sum are the same, whether all rows are read or only these", async () => {
  // The second question has a measure that is not a sum, so all of its rows are read.
  for (const order of ["asc", "desc"]) {
    const sorted = `by=account&sort=gross&order=${order}&limit=7&offset=3&${range}`
    const [some, all] = [
      await ask(`measure=gross,orders&${sorted}`),
      await ask(`measure=gross,orders,average&${sorted}`),
    ]
    const withoutAverage = all.body.data.map(({ average, ...row }: Record<string, unknown>) => row)
    expect(some.body.data).toEqual(withoutAverage)
    expect(some.body.data).toHaveLength(7)
    expect(some.body.meta.total).toBe(all.body.meta.total)
  }
})

test("a row of zeros is neither returned nor counted, even if only the first rows are read", async () => {
  const paid = { currency: "xts", paidAt: new Date("2026-03-01"), status: "paid" } as const
  const { id: payer } = await createUser()
  await createOrder({ userId: payer, amount: 900, ...paid })
  await createOrder({ userId: (await createUser()).id, amount: 0, ...paid })
  const { body } = await ask(`measure=gross&by=account&currency=xts&sort=gross&${range}`)
  expect(body.data).toEqual([expect.objectContaining({ account: payer, gross: 900 })])
  expect(body.meta.total).toBe(1)
})

test("a question that would take long is refused, and the message suggests a faster one", async () => {
  const product = { ...bounds }
  expect(product).toEqual({ rows: 250_000, groups: 20_000 })
  Object.assign(bounds, { rows: 2_500, groups: 200 })
  onTestFinished(() => void Object.assign(bounds, product))
  const keyId = randomUUID()
  const client = await ownerPool().connect()
  // Without the triggers that keep totals of lists.
  await client.query("SET session_replication_role = replica")
  const use = async (day: string, keys: number) => {
    await client.query(
      `INSERT INTO key_usage (unit, key_id, user_id, created_at, requests)
       SELECT 'day', CASE n WHEN 1 THEN $1::uuid ELSE gen_random_uuid() END, $1::uuid, $2::timestamptz, n FROM generate_series(1, $3::int) n`,
      [keyId, `${day}T00:00Z`, keys],
    )
  }
  await use("2019-01-01", 201)
  for (let day = 2; day <= 24; day++) await use(`2019-01-${String(day).padStart(2, "0")}`, 100)
  client.release(true)
  const on = (since: string, until: string) => `since=2019-01-${since}&until=2019-01-${until}`

  const narrow = await ask(`measure=requests&by=key&sort=requests&limit=2&${on("01", "01")}`)
  expect(narrow.body.data.map(({ requests }: { requests: number }) => requests)).toEqual([201, 200])
  expect(narrow.body.meta.total).toBe(201)
  const unsorted = await ask(`measure=requests&by=key&${on("01", "01")}`)
  expect([unsorted.status, unsorted.body.error?.message]).toEqual([
    400,
    expect.stringMatching(/more than 200 rows. Choose .* sorted by its measure/),
  ])
  const wide = await ask(`measure=requests&by=key&sort=requests&${on("01", "24")}`)
  expect([wide.status, wide.body.error?.message]).toEqual([
    400,
    expect.stringMatching(/more than 2500 rows.*shorten the range/),
  ])
  const indexed = await ask(`measure=requests&key=${keyId}&${on("01", "24")}`)
  expect(indexed.body.data).toEqual([expect.objectContaining({ requests: 24 })])
})
