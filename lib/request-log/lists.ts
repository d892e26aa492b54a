import { z } from "zod"
import { usageDays } from "@/lib/keys/choices"
import { dailyTotal, totalFrom } from "@/lib/platform/postgres/daily-sums"
import { columnName, findIn, type Page, type Range, type Selection } from "@/lib/platform/postgres/page"
import { countedSums, foldBeforeReading } from "@/lib/platform/postgres/request-sums"
import { credits, id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"
import { integer } from "@/lib/platform/schemas/integer"
import { firstLoggedDay } from "./retention"
import { failuresPerMinute } from "./write"

const count = z.int().min(0)

export const requestRow = z.object({
  id,
  keyId: id,
  userId: id.describe("The owner of the key"),
  createdAt: timestamp.describe("When the request arrived; kept for 30 days by default"),
  method: z.string(),
  route: z.string().describe("The path of the endpoint"),
  status: z.int(),
  code: z.string().nullable().describe("The code of an error"),
  ms: count.describe("Milliseconds until the response"),
  rows: count.describe("Rows of data in the response"),
  credits: credits.describe("Credits that the response says were charged"),
  address: z.string().nullable().describe("The client's network address"),
  userAgent: untrustedText.nullable().describe("As the client sent it, shortened, with API keys masked"),
  parameters: z.array(z.string()).describe("The names of the endpoint's parameters in the query"),
})

type Request = z.input<typeof requestRow>

const route = z
  .string()
  .regex(/^\/api\/v1(\/[\w.-]{1,40}){1,6}$/, "must be the path of an endpoint, such as /api/v1/me")

export const requestFilters = { keyId: id, route, status: integer(100, 599) }

const daily = dailyTotal("key_requests")
const hourly = totalFrom({
  table: "key_requests",
  sums: countedSums,
  bucket: "hour",
  ms: 3_600_000,
  startOf: (time) => `date_trunc('hour', ${time}::timestamptz, 'UTC')`,
})

const requests = findIn({
  table: "key_requests",
  row: requestRow,
  columns: { address: "host(address)" },
  total: (where, range, bind) => {
    if (!where.keyId && !where.userId) return daily(where, range, bind)
    const conditions = Object.entries(where).map(([field, value]) => `${columnName(field)} = ${bind(value)}`)
    return hourly(conditions, where, range, bind)
  },
})

export const findRequests = {
  page: ofKeptDays(requests.page, { rows: [], total: 0 }),
  all: ofKeptDays(requests.all, []),
}

function ofKeptDays<Selected extends Range, Result>(
  read: (where: Partial<Request>, selected: Selected) => Promise<Result>,
  none: Result,
) {
  return async (where: Partial<Request>, selected: Selected): Promise<Result> => {
    const first = firstLoggedDay()
    if (selected.until && selected.until < first) return none
    return read(where, { ...selected, since: selected.since && selected.since > first ? selected.since : first })
  }
}

export const usageUnit = z.enum(["hour", "day"])

export const usageRow = z.object({
  id,
  keyId: id,
  userId: id.describe("The owner of the key"),
  unit: usageUnit.describe("The length of the period"),
  createdAt: timestamp.describe(`The start of the period; kept for ${usageDays} days`),
  requests: count.describe("Logged requests, including rejected ones"),
  errors: count.describe("Requests with a status of 400 or more"),
  rows: count.describe("Rows of data in the responses"),
  credits: credits.describe("Credits that the responses say were charged"),
  under10Ms: count.describe("Requests that took less than 10 ms"),
  under50Ms: count.describe("Requests that took 10 to 49 ms"),
  under250Ms: count.describe("Requests that took 50 to 249 ms"),
  under1000Ms: count.describe("Requests that took 250 to 999 ms; the others took longer"),
  unlogged: count.describe(
    `Requests in no other number: failures above ${failuresPerMinute} in a minute of a key, account or address, keys that ended long ago, and requests that could not be stored`,
  ),
})

type Usage = z.input<typeof usageRow>

export const usageFilters = {
  keyId: id,
  unit: usageUnit.meta({ default: "day", description: "The length of a period" }),
}

const usage = findIn({
  table: "key_usage",
  row: usageRow,
  columns: {
    under10Ms: "under_10_ms",
    under50Ms: "under_50_ms",
    under250Ms: "under_250_ms",
    under1000Ms: "under_1000_ms",
  },
  total: dailyTotal("key_usage"),
})

export const findUsage = {
  page: async ({ unit = "day", ...where }: Partial<Usage>, page: Page) => {
    await foldBeforeReading()
    return usage.page({ ...where, unit }, page)
  },
  all: async ({ unit = "day", ...where }: Partial<Usage>, selection: Selection) => {
    await foldBeforeReading()
    return usage.all({ ...where, unit }, selection)
  },
}
