import type { z } from "zod"
import type { Worked } from "@/lib/credits/run"
import type { Family, Source } from "@/lib/metrics/family"
import { databaseDeadline, type WithinDeadline } from "@/lib/platform/postgres/deadline"
import { isOverloaded } from "@/lib/platform/postgres/load-shedding"
import { onStandbys } from "@/lib/platform/postgres/standbys"
import { inTurns } from "@/lib/platform/queues/turns"
import { type Access, authorize, type Caller } from "./authenticate"
import type { ErrorCode } from "./errors"
import { identify, refuseOverloaded } from "./identify"
import { eachMethod, handleEach, type Method } from "./methods"
import type { Parameters } from "./parameters"
import { type Body, type Draft, respond, setAll } from "./respond"
import type { Counts } from "./result-words"

export type Endpoint = Access & {
  readonly method: "GET" | "POST"
  readonly summary: string
  readonly shape: "list" | "metrics" | "object"
  readonly filters: Parameters
  readonly parameters: Parameters
  readonly required?: readonly string[]
  readonly data: z.ZodType
  readonly meta: z.ZodObject
  /** Of a POST. */
  readonly body?: z.ZodType
  /** In addition to the errors of every endpoint. */
  readonly errors?: readonly ErrorCode[]
  /** Sentences for the guide to idempotency. */
  readonly idempotency?: string
  /** Makes a POST a tool of agents. `ofMetered`: the field `body` of its body is the body of a metered call. */
  readonly tool?: {
    readonly name: string
    readonly spends: boolean
    readonly isIdempotent: boolean
    readonly ofMetered?: true
  }
  /** `maxCost` is in credits. */
  readonly metered?: {
    readonly maxCost: number
    readonly counts?: Counts
    readonly sample?: (text: string) => Worked<unknown>
    readonly prepare: Prepare
  }
  readonly metrics?: Family
  readonly families?: readonly Source[]
  readonly exampleQuery?: string
  readonly recipes: Readonly<Record<string, string>>
}

type Route<Row = Endpoint> = ((request: Request) => Promise<Response>) & {
  readonly endpoint: Row
  /** Authorizes the key of a request and handles its call. @throws Refusal */
  readonly perform: (call: Identified) => Promise<Body>
}

/** A call whose key is known, and nothing else. */
type Identified = Pick<Call, "request" | "url" | "deadline" | "draft"> & Pick<Caller, "key" | "verdict">

/** A handler for every method, because the framework's own 405 has an empty body. */
export type Routes<Row = Endpoint> = Readonly<Record<Method, Route<Row>>>

/** Of a request, or of a message that stands for one. */
type Sent = Pick<Request, "method" | "headers" | "body" | "signal">

export type Call = {
  request: Sent
  url: URL
  caller: Caller
  access: Access
  /** Also waits for the owner's turn. */
  withinDeadline: WithinDeadline
  /** For statements that wait in the queue of `lib/credits/group.ts`: it takes the turns. */
  deadline: WithinDeadline
  draft: Draft
}

/** @param at the field of the request's body that has the body of the call. @throws Refusal 400 for an invalid body */
type Prepare = (path: string, body: unknown, at?: readonly string[]) => PreparedCall

/** A metered call with a valid body. */
export type PreparedCall = Promised & {
  /**
   * Charges the account of the caller once for each idempotency key, also if `promised` was made by an earlier release.
   * @returns the response, new or stored
   * @throws Refusal as the metered endpoint does
   */
  readonly execute: (call: Call, idempotencyKey: string | null, promised?: Promised) => Promise<string>
}

type Promised = {
  /** The most that the call can cost, in credits. */
  readonly maxCost: number
  /** Of the path and the body: see ReserveRequest. */
  readonly fingerprint: Buffer
}

/** Customers read their own writes, and an object is about the calling key. */
export function mayReadStandbys({ surface, shape }: Pick<Endpoint, "surface" | "shape">): boolean {
  return surface === "admin" && shape !== "object"
}

export function routes<Row extends Endpoint>(endpoint: Row, handle: (call: Call) => Promise<Body>): Routes<Row> {
  const allowed = endpoint.method === "GET" ? "GET, HEAD, OPTIONS" : `${endpoint.method}, OPTIONS`

  function serve(request: Request): Promise<Response> {
    return respond(request, async (draft, url) => {
      if (isOverloaded()) return refuseOverloaded()
      const withinDeadline = databaseDeadline()
      if (url.search) draft.parameters = knownParameters(endpoint, url)
      const { key, verdict } = await identify(request, draft, withinDeadline)
      return perform({ request, url, key, verdict, deadline: withinDeadline, draft })
    })
  }

  async function perform({ key, verdict, deadline, draft, ...call }: Identified): Promise<Body> {
    const caller = authorize(key, verdict, endpoint)
    // Lists count their rows; any other body is one object.
    if (endpoint.method === "GET") draft.rows = 1
    const inTurn = inTurns(caller.owner.id, deadline)
    const tell = (dataAsOf: Date) => setAll(draft.headers, { "Data-As-Of": dataAsOf.toISOString() })
    const withinDeadline = mayReadStandbys(endpoint) ? onStandbys(inTurn, { tell }) : inTurn
    return handle({ ...call, caller, access: endpoint, withinDeadline, deadline, draft })
  }

  const responses = handleEach(endpoint.method, allowed, serve)
  return eachMethod((method) => Object.assign(responses[method], { endpoint, perform }))
}

/** Unknown names can contain anything, even a secret. */
export function knownParameters({ parameters }: Endpoint, { searchParams }: URL): string[] {
  return Object.keys(parameters).filter((name) => searchParams.has(name))
}
