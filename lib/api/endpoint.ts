import { z } from "zod"
import type { OwnerId } from "@/lib/accounts/owner"
import { databaseDeadline, type WithinDeadline } from "@/lib/postgres/deadline"
import { isOverloaded, overloaded } from "@/lib/postgres/load-shedding"
import type { Found, Page } from "@/lib/postgres/page"
import { limits, type Verdict } from "@/lib/rate-limit/rate-limit"
import type { Surface } from "@/lib/surfaces"
import { fingerprintOf, type RunResult, run, type Worked } from "../credits/run"
import { id, timestamp } from "../fields"
import type { Permission } from "../permissions"
import { authenticate, type Caller, type Owner } from "./authenticate"
import { readBody } from "./body"
import { type List, listEnvelope, objectEnvelope, runEnvelope } from "./envelope"
import { refuseAs } from "./errors"
import { readIdempotencyKey } from "./idempotency-key"
import { encodeCursor, type Parameters, parseListQuery, parseParameters, sharedParameters } from "./query"
import { eachMethod, handleEach, type Method, pathOf, respond, setAll } from "./respond"

/** The definition of an endpoint, which documents, console pages and tests read. Its path is its folder. */
export type Endpoint = {
  readonly surface: Surface
  readonly method: "GET" | "POST"
  readonly summary: string
  /** The permission that the key's owner must hold; none on the user surface. */
  readonly permission: Permission | undefined
  /** Whether `data` is a page of rows with `meta`, or one object. */
  readonly shape: "list" | "object"
  readonly filters: Parameters
  readonly parameters: Parameters
  /** The schema of a row, or of the object. */
  readonly data: z.ZodType
  /** The schema of what a list's `meta` contains besides the page. */
  readonly meta: z.ZodObject
  /** The schema of the request body and the maximum cost in credits; on metered endpoints only. */
  readonly metered?: { readonly body: z.ZodType; readonly maxCost: number }
  /** Code that answers a question from these rows, by the title of the question. */
  readonly recipes: Readonly<Record<string, string>>
}

export type Route<Row = Endpoint> = ((request: Request) => Promise<Response>) & { readonly endpoint: Row }

/** What a route file exports: a handler for every method, because the framework's own 405 has an empty body. */
export type Routes<Row = Endpoint> = Readonly<Record<Method, Route<Row>>>

/** An admin list that pages can read too, with the same rows, parameters and errors as over HTTP. */
export type AdminEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly permission: Permission
  /** @param search the query, with or without its `?` */
  readonly read: (search: string) => Promise<List<Row, Meta>>
}

/** A user list that pages can read too, for the signed-in account instead of a key's owner. */
export type UserEndpoint<Row, Meta = unknown> = Endpoint & {
  /** @param search the query, with or without its `?` */
  readonly read: (owner: OwnerId, search: string) => Promise<List<Row, Meta>>
}

const noMeta = z.object({})

export type Find<Where, Row extends z.ZodObject> = (where: Where, page: Page) => Promise<Found<z.input<Row>>>

/** A filter has the name and type of the `where` field that it sets, so a misspelled filter does not compile. */
export type Filters<Where> = { readonly [Column in keyof Where]?: z.ZodType<Where[Column], string> }

/** A list of the admin surface: the rows of all accounts, for keys whose owner holds `permission`. */
export function adminList<
  Where extends object,
  Row extends z.ZodObject,
  Meta extends z.ZodObject = typeof noMeta,
>(row: {
  summary: string
  permission: Permission
  filters?: Filters<Where>
  row: Row
  meta?: Meta
  find: Find<Where, Row>
  recipes?: Record<string, string>
}): Routes<AdminEndpoint<z.output<Row>, z.output<Meta>>> {
  const filters = (row.filters ?? {}) as Parameters
  // A row without one leaves Meta at its default, the type of noMeta.
  const meta = row.meta ?? (noMeta as unknown as Meta)
  async function read(search: string) {
    const { page, where } = parseListQuery(search, filters, idOf(row.row))
    // The filters' types are those of Where's columns: see Filters.
    return listOf(row.row, meta, page, await row.find(where as Where, page))
  }
  return routes(
    {
      surface: "admin",
      method: "GET",
      summary: row.summary,
      permission: row.permission,
      shape: "list",
      filters,
      parameters: { ...sharedParameters, ...filters },
      data: row.row,
      meta,
      recipes: row.recipes ?? {},
      read,
    },
    async (request, _caller, withinDeadline) => listEnvelope(await withinDeadline(read(new URL(request.url).search))),
  )
}

/** A list of the user surface. It adds the owner's id to `where`, so `find` is never called without it. */
export function userList<
  Where extends { userId?: unknown },
  Row extends z.ZodObject,
  Meta extends z.ZodObject = typeof noMeta,
>(row: {
  summary: string
  filters?: Filters<Omit<Where, "userId">>
  row: Row
  meta?: Meta
  find: Find<Where & { userId: OwnerId }, Row>
}): Routes<UserEndpoint<z.output<Row>, z.output<Meta>>> {
  const filters = (row.filters ?? {}) as Parameters
  // A row without one leaves Meta at its default, the type of noMeta.
  const meta = row.meta ?? (noMeta as unknown as Meta)
  async function read(owner: OwnerId, search: string) {
    const { page, where } = parseListQuery(search, filters, idOf(row.row))
    // The filters' types are those of Where's other columns: see Filters.
    const own = { ...where, userId: owner } as Where & { userId: OwnerId }
    return listOf(row.row, meta, page, await row.find(own, page))
  }
  return routes(
    {
      surface: "user",
      method: "GET",
      summary: row.summary,
      permission: undefined,
      shape: "list",
      filters,
      parameters: { ...sharedParameters, ...filters },
      data: row.row,
      meta,
      recipes: {},
      read,
    },
    async (request, { owner }, withinDeadline) =>
      listEnvelope(await withinDeadline(read(owner.id, new URL(request.url).search))),
  )
}

/** One object of the key owner, or `null`. */
export function userObject<Data extends z.ZodType>(row: {
  summary: string
  data: Data
  get: (owner: Owner) => Promise<z.input<Data>>
}): Routes {
  return routes(
    {
      surface: "user",
      method: "GET",
      summary: row.summary,
      permission: undefined,
      shape: "object",
      filters: {},
      parameters: {},
      data: row.data,
      meta: noMeta,
      recipes: {},
    },
    async (request, { owner }, withinDeadline) => {
      parseParameters(new URL(request.url).search, {})
      return objectEnvelope(row.data.parse(await withinDeadline(row.get(owner))))
    },
  )
}

/**
 * A metered endpoint: reserves the maximum cost, does the work and settles the actual cost. A retry with the same
 * Idempotency-Key is never charged twice.
 */
export function userMetered<Body extends z.ZodType, Result extends z.ZodType>(row: {
  summary: string
  /** In credits, at least 1. No call is charged more, whatever cost `work` returns. */
  maxCost: number
  body: Body
  result: Result
  /** `signal` aborts when the time is up. A thrown error becomes the response, and nothing is charged. */
  work: (body: z.output<Body>, context: { runId: string; signal: AbortSignal }) => Promise<Worked<z.input<Result>>>
}): Routes {
  const { summary, maxCost, body, result, work } = row
  return routes(
    {
      surface: "user",
      method: "POST",
      summary,
      permission: undefined,
      shape: "object",
      filters: {},
      parameters: {},
      data: settledRun(maxCost, result),
      meta: noMeta,
      metered: { body, maxCost },
      recipes: {},
    },
    async (request, { keyId, owner }, withinDeadline, headers) => {
      const { pathname, search } = new URL(request.url)
      parseParameters(search, {})
      const idempotencyKey = readIdempotencyKey(request.headers)
      const input = await readBody(request, body)
      const fingerprint = fingerprintOf(pathname, input)
      const outcome = await run(
        { owner: owner.id, keyId, idempotencyKey, fingerprint, amount: maxCost },
        async (context) => {
          const worked = await work(input, context)
          return { ...worked, result: result.parse(worked.result) }
        },
        runEnvelope,
        withinDeadline,
      )
      if (!outcome.ok) return refuseRun(outcome, maxCost)
      if (outcome.replayed) headers.set("Idempotency-Replayed", "true")
      return outcome.body
    },
  )
}

function settledRun(maxCost: number, result: z.ZodType) {
  return z.object({
    id: id.describe("The run; its ledger entries have this id as runId"),
    cost: z.int().min(0).max(maxCost).describe("Credits that were charged"),
    balance: z.int().min(0).describe("Credits left when the run was settled"),
    result,
    createdAt: timestamp,
  })
}

function refuseRun(outcome: Extract<RunResult, { ok: false }>, maxCost: number): never {
  switch (outcome.reason) {
    case "insufficient":
      return refuseAs(
        "insufficient_credits",
        `A call can cost up to ${maxCost} credits, and the balance is ${outcome.balance}. Nothing was charged. Contact the service operator to add credits.`,
      )
    case "mismatch":
      return refuseAs(
        "idempotency_mismatch",
        "This Idempotency-Key was already used with a different body. Send a new key.",
      )
    case "in_progress":
      return refuseAs(
        "idempotency_in_progress",
        "The call with this Idempotency-Key is still running. Try again to get its response.",
        { "Retry-After": String(Math.min(2, outcome.secondsLeft)) },
      )
    case "busy":
      return refuseAs(
        "service_unavailable",
        "Other calls of this account took the credits first. Nothing was charged; try again.",
        {
          "Retry-After": "1",
        },
      )
    case "timed_out":
    case "too_late":
      return refuseAs("service_unavailable", "The call did not finish in time. Nothing was charged; try again.", {
        "Retry-After": "2",
      })
  }
}

/** Every row of a list has an `id`, which cursors contain. */
function idOf(row: z.ZodObject): z.ZodType {
  return row.shape.id as z.ZodType
}

function listOf<Row extends z.ZodObject, Meta extends z.ZodObject>(
  schema: Row,
  metaSchema: Meta,
  page: Page,
  found: Found<z.input<Row>>,
): List<z.output<Row>, z.output<Meta>> {
  const hasMore = found.rows.length > page.limit
  const rows = hasMore ? found.rows.slice(0, page.limit) : found.rows
  const last = rows.at(-1) as { createdAt: Date | string; id: string } | undefined
  const nextCursor =
    hasMore && last ? encodeCursor(page.order, { createdAt: new Date(last.createdAt), id: last.id }) : null
  const { limit, offset } = page
  const meta = { total: found.total, limit, offset, nextCursor, ...metaSchema.parse(found.meta ?? {}) }
  return { data: rows.map((row) => schema.parse(row)), meta }
}

/** Turns an endpoint and its handler into the routes of all methods. */
function routes<Row extends Endpoint>(
  endpoint: Row,
  handle: (request: Request, caller: Caller, withinDeadline: WithinDeadline, headers: Headers) => Promise<string>,
): Routes<Row> {
  const allowed = endpoint.method === "GET" ? "GET, HEAD, OPTIONS" : `${endpoint.method}, OPTIONS`

  function serve(request: Request): Promise<Response> {
    return respond(request, pathOf(request), async (draft) => {
      const onKey = (keyId: string, verdict: Verdict) => {
        draft.keyId = keyId
        setAll(draft.headers, rateLimitHeaders(verdict))
      }
      if (isOverloaded()) return refuseAs("service_unavailable", overloaded.message, overloaded.headers)
      const withinDeadline = databaseDeadline()
      const caller = await withinDeadline(authenticate(request, endpoint.surface, endpoint.permission, onKey))
      return handle(request, caller, withinDeadline, draft.headers)
    })
  }

  const responses = handleEach(endpoint.method, allowed, serve)
  return eachMethod((method) => Object.assign(responses[method], { endpoint }))
}

/** The headers of draft-ietf-httpapi-ratelimit-headers and their older X- form, which most clients read. */
function rateLimitHeaders({ limit, remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    "RateLimit-Policy": `"default";q=${limit};w=${limits.key.windowSeconds}`,
    RateLimit: `"default";r=${remaining};t=${resetSeconds}`,
    "X-RateLimit-Limit": String(limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(resetSeconds),
  }
}
