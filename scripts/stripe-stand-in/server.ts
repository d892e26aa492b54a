import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { expand, routes } from "./api"
import type { Basket } from "./checkout"
import { type Controlled, controls, type Fault } from "./controls"
import { type Form, parseForm, stringsOf } from "./form"
import { respondWithPage } from "./pages"
import { Webhooks } from "./webhooks"
import { ApiError, type State, World } from "./world"

export type Options = {
  /** 0, the default, is a free port. */
  port?: number
  /** The secret key that callers must send. */
  key: string
  /** Signs events. */
  webhookSecret: string
  /** The address that receives events. */
  webhookUrl?: string
  /** Keeps the objects, as JSON. */
  file?: string
}

export type StandIn = {
  url: string
  /** Does one of the controls. */
  control: (name: string, given?: Readonly<Record<string, string>>) => Promise<unknown>
  stop: () => Promise<void>
}

type Result = { status: number; body: string }

type Kept = State & { baskets: [string, Basket][] }

/** Starts the stand-in on this machine only. */
export async function startStandIn(options: Options): Promise<StandIn> {
  const results = new Map<string, { request: string; result: Result | undefined }>()
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => {
      console.error(error)
      response.destroy()
    })
  })
  await once(server.listen(options.port ?? 0, "127.0.0.1"), "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const webhooks = new Webhooks(options.webhookSecret)
  webhooks.url = options.webhookUrl
  const world = new World(url, (event) => webhooks.push(event))
  const on: Controlled = { world, baskets: new Map(), webhooks, faults: [], requests: [] }
  if (options.file) await load(on, options.file)

  async function control(name: string, given: Readonly<Record<string, string>> = {}): Promise<unknown> {
    if (!Object.hasOwn(controls, name))
      throw new ApiError(404, { type: "invalid_request_error", message: "No such control." })
    const result = await controls[name]?.(on, given)
    await save()
    return result
  }

  async function save(): Promise<void> {
    if (!options.file) return
    const kept: Kept = { ...world.save(), baskets: [...on.baskets] }
    await writeFile(options.file, JSON.stringify(kept), { mode: 0o600 })
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET" } = request
    const { pathname, search } = new URL(request.url ?? "/", url)
    const body = (await request.toArray()).join("")
    if (pathname.startsWith("/v1/"))
      return respondToApi(request, response, pathname, method === "GET" ? search.slice(1) : body)
    if (!pathname.startsWith("/_control/")) return respondWithPage(on, control, { method, pathname, body }, response)
    const isJson = request.headers["content-type"]?.includes("json")
    const given = isJson ? Object.entries(JSON.parse(body || "{}")) : [...new URLSearchParams(body)]
    const result = resultOf(async () => {
      const fields = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
      return control(pathname.slice("/_control/".length), fields)
    })
    send(response, await result)
  }

  async function respondToApi(
    request: IncomingMessage,
    response: ServerResponse,
    pathname: string,
    text: string,
  ): Promise<void> {
    const { method = "GET" } = request
    on.requests.push({ method, path: pathname })
    if (on.requests.length > 10_000) on.requests.shift()
    const fault = on.faults.find((one) =>
      one.method.includes(method) || one.method === "" ? pathname.includes(one.path) : false,
    )
    if (fault) {
      fault.times -= 1
      if (fault.times === 0) on.faults.splice(on.faults.indexOf(fault), 1)
      if (!fault.after) return fail(response, fault)
    }
    const key = method === "POST" ? request.headers["idempotency-key"] : undefined
    const act = () => resultOf(() => callApi(request, method, pathname, text, String(key ?? "") || null))
    const result = key ? await idempotent(String(key), `${method} ${pathname} ${digest(text)}`, act) : await act()
    if (fault) return fail(response, fault)
    send(response, result)
  }

  async function callApi(request: IncomingMessage, method: string, pathname: string, text: string, key: string | null) {
    if (request.headers.authorization !== `Bearer ${options.key}`) {
      const message = "Invalid API Key provided."
      throw new ApiError(401, { type: "invalid_request_error", message })
    }
    const given = parseForm(text)
    for (const route of routes) {
      const id = route.path.exec(pathname)
      if (!id || route.method !== method) continue
      const unknown = Object.keys(given).find((name) => name !== "expand" && !route.parameters.includes(name))
      if (unknown) {
        const message = `Received unknown parameter: ${unknown}`
        throw new ApiError(400, { type: "invalid_request_error", code: "parameter_unknown", message, param: unknown })
      }
      world.request = { id: `req_${randomBytes(7).toString("hex")}`, idempotency_key: key }
      const result = act(route.act, given, decodeURIComponent(id[1] ?? ""))
      await save()
      return result
    }
    const message = `Unrecognized request URL (${method}: ${pathname}). The stand-in does not imitate it.`
    throw new ApiError(404, { type: "invalid_request_error", message })
  }

  function act(route: (typeof routes)[number]["act"], given: Form, id: string): unknown {
    try {
      return expand(world, route(on, given, id), stringsOf(given, "expand"))
    } finally {
      world.request = null
    }
  }

  /** The same key gets the same response; with another request it is refused, as is one at the same time. */
  async function idempotent(key: string, request: string, act: () => Promise<Result>): Promise<Result> {
    const known = results.get(key)
    const idempotency = { type: "idempotency_error" }
    if (known && known.request !== request) {
      const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}'.`
      return resultOf(() => Promise.reject(new ApiError(400, { ...idempotency, message })))
    }
    if (known) {
      const message = `There is currently another in-progress request using this Idempotency Key: ${key}`
      const inUse = new ApiError(409, { ...idempotency, code: "idempotency_key_in_use", message })
      return known.result ?? resultOf(() => Promise.reject(inUse))
    }
    const entry: { request: string; result: Result | undefined } = { request, result: undefined }
    results.set(key, entry)
    const result = await act()
    // A request that was refused before it did anything may be sent again.
    if (result.status < 300 || result.status === 402) entry.result = result
    else results.delete(key)
    return result
  }

  return {
    url,
    control,
    stop: async () => {
      webhooks.stop()
      await save()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

async function load(on: Controlled, file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => undefined)
  if (text === undefined) return
  const kept: Kept = JSON.parse(text)
  on.world.load(kept)
  on.baskets = new Map(kept.baskets)
}

async function resultOf(act: () => Promise<unknown>): Promise<Result> {
  try {
    return { status: 200, body: JSON.stringify((await act()) ?? {}) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { status: error.status, body: JSON.stringify({ error: error.fields }) }
  }
}

function send(response: ServerResponse, { status, body }: Result): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "request-id": `req_${randomBytes(7).toString("hex")}`,
  })
  response.end(body)
}

function fail(response: ServerResponse, { kind }: Fault): void {
  if (kind === "reset") response.destroy()
  // The caller gives up.
  if (kind === "reset" || kind === "timeout") return
  const fields = errors[kind] ?? { type: "api_error", message: "An error occurred internally with Stripe's API." }
  send(response, { status: Number(kind), body: JSON.stringify({ error: fields }) })
}

const errors: Record<string, { type: string; code?: string; message: string }> = {
  400: { type: "invalid_request_error", message: "The request has an invalid parameter." },
  429: { type: "invalid_request_error", code: "rate_limit", message: "Too many requests." },
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64")
}
