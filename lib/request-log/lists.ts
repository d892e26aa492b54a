import { z } from "zod"
import { usageDays } from "@/lib/keys/choices"
import { dailyTotal, totalFrom } from "@/lib/platform/postgres/daily-sums"
import {
  Between,
  columnName,
  equals,
  findIn,
  type Page,
  type Range,
  type Selection,
} from "@/lib/platform/postgres/page"
import { countedSums, foldBeforeReading } from "@/lib/platform/postgres/request-sums"
import { credits, id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"
import { isRequestId, timeOfRequestId } from "@/lib/platform/telemetry/request-id"
import { firstLoggedDay } from "./retention"
import { failuresPerMinute } from "./write"

const count = z.int().min(0)

export const requestRow = z.object({
  id,
  keyId: id,
  userId: id.describe("The owner of the key"),
  createdAt: timestamp.describe("Kept for 30 days by default"),
  method: z.string(),
  route: z.string().describe("The path of the endpoint, or none for a path without one"),
  status: z.int(),
  code: z.string().nullable().describe("Of an error"),
  ms: count.describe("Milliseconds until the response"),
  rows: count.describe("Rows in the response"),
  credits: credits.describe("Charged, as the response says"),
  address: z.string().nullable().describe("Of the client"),
  userAgent: untrustedText.nullable().describe("Shortened, with API keys masked"),
  parameters: z.array(z.string()).describe("Names of parameters in the query"),
  requestId: untrustedText.describe("X-Request-Id: the id, unless the client sent another one"),
  runId: id.nullable().describe("Of a metered call"),
  message: untrustedText.nullable().describe("Of an error, without values that the client sent"),
})

export type Request = z.output<typeof requestRow>

type Row = z.input<typeof requestRow>
type Where = Partial<Omit<Row, "status" | "requestId">> & {
  status?: number | Between
  requestId?: string | readonly string[]
}

/** The route of a request for a path without an endpoint, which clients can choose. */
export const noRoute = "none"

/** SQL. */
export function surfaceOfRoute(route: string): string {
  return `CASE WHEN ${route} ~ '^/(api/v1|mcp)/admin' THEN 'admin' WHEN ${route} <> '${noRoute}' THEN 'user' END`
}

const route = z
  .string()
  .regex(
    /^(none|\/api\/v1(\/[\w.-]{1,40}){1,6}|\/mcp\/\w{1,10}( [\w/.-]{1,60}){0,2})$/,
    "must be the path of an endpoint, such as /api/v1/me, or none",
  )

export const statusGroups = {
  succeeded: new Between(100, 399),
  failed: new Between(400, 599),
  "4xx": new Between(400, 499),
  "5xx": new Between(500, 599),
} as const

const isGroup = (text: string): text is keyof typeof statusGroups => Object.hasOwn(statusGroups, text)

const groupNames = Object.keys(statusGroups)

const status = z
  .string()
  .regex(
    new RegExp(`^([1-5]\\d\\d|${groupNames.join("|")})$`),
    `must be an integer from 100 to 599, or one of ${groupNames.join(", ")}`,
  )
  .transform((text) => (isGroup(text) ? statusGroups[text] : Number(text)))
  .describe(`A status, or ${groupNames.join(", ")}`)

const requestId = z
  .string()
  .regex(/^[\w-]{8,64}$/, "must be the X-Request-Id of a response")
  .refine(isRequestId, "must be the X-Request-Id of a response, and never a key")
  .describe("The X-Request-Id of a response")

export const requestFilters = { keyId: id, route, status, requestId }

const daily = dailyTotal("key_requests")
const hourly = totalFrom({
  table: "key_requests",
  sums: countedSums,
  bucket: "hour",
  ms: 3_600_000,
  startOf: (time) => `date_trunc('hour', ${time}::timestamptz, 'UTC')`,
})

const requests = findIn<typeof requestRow, Where>({
  table: "key_requests",
  row: requestRow,
  columns: { address: "host(address)", requestId: "coalesce(request_id, id::text)" },
  conditions: {
    // Its three texts are an id that the client chose; and an id with its time, of the server.
    requestId: (texts) => {
      const text = (index: number) => `(${texts}::text[])[${index}]`
      return `(request_id = ${text(1)} OR (created_at = to_timestamp(${text(3)}::float8 / 1000) AND id = ${text(2)}::uuid))`
    },
  },
  selective: ["requestId"],
  total: (where, range, bind) => {
    // Few rows, which are counted.
    if (where.id || where.requestId) return undefined
    if (!where.keyId && !where.userId) return daily(where, range, bind)
    const conditions = Object.entries(where).map(([field, value]) => equals(columnName(field), value, bind))
    return hourly(conditions, where, range, bind)
  },
})

export const findRequests = {
  page: ofKeptDays(requests.page, { rows: [], total: 0 }),
  all: ofKeptDays(requests.all, []),
}

function ofKeptDays<Selected extends Range, Result>(
  read: (where: Where, selected: Selected) => Promise<Result>,
  none: Result,
) {
  return async (where: Where, selected: Selected): Promise<Result> => {
    const first = firstLoggedDay()
    if (selected.until && selected.until < first) return none
    const since = selected.since && selected.since > first ? selected.since : first
    return read(where.requestId ? { ...where, requestId: textsOf(String(where.requestId)) } : where, {
      ...selected,
      since,
    })
  }
}

function textsOf(requestId: string): string[] {
  const time = timeOfRequestId(requestId)
  return [requestId, ...(time ? [requestId, String(time.getTime())] : [])]
}

/** By the X-Request-Id of its response, or by its id: of several with an id that the client chose, the newest. */
export async function findRequest(id: string, where: Pick<Where, "userId"> = {}): Promise<Request | undefined> {
  if (!isRequestId(id)) return undefined
  const page = { limit: 1, offset: 0, order: "desc" } as const
  const time = timeOfRequestId(id)
  const { rows: own } = time
    ? await findRequests.page({ ...where, id }, { ...page, since: time, until: time })
    : { rows: [] }
  const [found] = own.length > 0 ? own : (await findRequests.page({ ...where, requestId: id }, page)).rows
  return found && requestRow.parse(found)
}

export type RequestList = "/account/requests" | "/admin/requests"

/** The page of a request. An id without a time is of an earlier build, whose rows are found by the id of their response. */
export function requestPage(list: RequestList, { id, requestId }: Pick<Request, "id" | "requestId">): string {
  return `${list}/${timeOfRequestId(id) ? id : requestId}`
}

export const usageUnit = z.enum(["hour", "day"])

export const usageRow = z.object({
  id,
  keyId: id,
  userId: id.describe("The owner of the key"),
  unit: usageUnit.describe("The length of the period"),
  createdAt: timestamp.describe(`Its start; kept for ${usageDays} days`),
  requests: count.describe("Logged requests, including rejected ones"),
  errors: count.describe("Those with a status of 400 or more"),
  rows: count.describe("Rows in the responses"),
  credits: credits.describe("Charged, as the responses say"),
  under10Ms: count.describe("Those below 10 ms"),
  under50Ms: count.describe("10 to 49 ms"),
  under250Ms: count.describe("50 to 249 ms"),
  under1000Ms: count.describe("250 to 999 ms; the others took longer"),
  unlogged: count.describe(
    `In no other number: failures above ${failuresPerMinute} a minute, keys that ended long ago, requests that could not be stored`,
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
