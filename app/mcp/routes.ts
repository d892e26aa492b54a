import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolErrorCode,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server"
import { z } from "zod"
import { readJson } from "@/lib/api/body"
import { type Routes, routes } from "@/lib/api/endpoint"
import { refuseAs } from "@/lib/api/errors"
import { ownObject } from "@/lib/api/object"
import { parseParameters } from "@/lib/api/query"
import type { Body, Draft } from "@/lib/api/respond"
import { said } from "@/lib/api/said"
import { env } from "@/lib/env"
import { matchesBaseUrl } from "@/lib/platform/http/base-url"
import type { Surface } from "@/lib/surfaces"
import { meta, modernVersion } from "./direct-call"
import { callDirectly, createServer } from "./server"
import { type Session, startSession } from "./session"

/** A message of the Model Context Protocol, authenticated and limited as a request of the API is. */
export function mcpRoutes(surface: Surface): Routes {
  return routes(
    {
      ...ownObject,
      surface,
      scope: undefined,
      method: "POST",
      summary: "Serves the Model Context Protocol",
      data: z.unknown(),
    },
    async (call) => {
      parseParameters(call.url.search, ownObject.parameters)
      refuseForeignOrigin(call.request.headers)
      const message = await readJson(call.request)
      if (Array.isArray(message))
        refuseAs("bad_request", said`Send one message in each request; batches are not supported.`)
      const session = await startSession(call)
      const direct = await callDirectly(session, call.request.headers, message)
      const response = direct ?? (await serve(call.request.headers, message, session))
      return bodyOf(response, session)
    },
  )
}

/** Only a browser sends an origin: a page of another site must not use the server through it. */
function refuseForeignOrigin(headers: Headers): void {
  const origin = headers.get("origin")
  if (origin === null || matchesBaseUrl(origin, env().BASE_URL)) return
  refuseAs("forbidden", said`Pages of other origins may not send messages.`)
}

async function serve(given: Headers, message: unknown, session: Session): Promise<Response> {
  const request = messageRequest(given)
  const { method, params } = Object(message)
  const version = request.headers.get(versionHeader) ?? modernVersion
  const isKnown = version === modernVersion || SUPPORTED_PROTOCOL_VERSIONS.includes(version)
  // Since 2026-07-28, a message has its version, too, and the refusal of an unknown one names the supported ones.
  if (!isKnown && (method === "initialize" || !isVersioned(params))) request.headers.delete(versionHeader)
  if (!(await isLegacyRequest(request, message))) {
    const authInfo = { token: "", clientId: "", scopes: [], extra: { session, method } }
    return modern.fetch(request, { authInfo, parsedBody: message })
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await createServer(session, method).connect(transport)
  // No session and no stream is left to close.
  return transport.handleRequest(request, { parsedBody: message })
}

/** The older protocol sends errors with the status 200. */
function loggedOf(status: number, text: string): Pick<Draft, "code" | "callStatus"> {
  const { error } = text ? JSON.parse(text) : {}
  if (!error) return {}
  const isMissing = status === 404 || error.code === ProtocolErrorCode.MethodNotFound
  return isMissing ? { code: "not_found", callStatus: 404 } : { code: "bad_request", callStatus: 400 }
}

const versionHeader = "mcp-protocol-version"

function isVersioned(params: unknown): boolean {
  return Object.hasOwn(Object(Object(params)._meta), meta("protocolVersion"))
}

/** Without the key. Both types of response are accepted, because the older protocol requires it, and gets JSON. */
function messageRequest(given: Headers): Request {
  const headers = new Headers({ accept: "application/json, text/event-stream", "content-type": "application/json" })
  for (const [name, value] of given) if (name.startsWith("mcp-")) headers.set(name, value)
  return new Request(env().BASE_URL, { method: "POST", headers })
}

/** Since 2026-07-28. No tool sends a message before its result, so each response is JSON. */
const modern = createMcpHandler(({ authInfo }) => createServer(...givenIn(authInfo?.extra)), {
  legacy: "reject",
  maxSubscriptions: 0,
})

function givenIn(extra: Record<string, unknown> = {}): [Session, unknown] {
  return [extra.session as Session, extra.method]
}

/** @throws Refusal 401 or 429 of a call */
async function bodyOf(response: Response | string, { call, refusal }: Session): Promise<Body> {
  if (refusal) throw refusal
  if (typeof response === "string") return response
  const { draft } = call
  draft.status = response.status
  const text = await response.text()
  if (!draft.code) Object.assign(draft, loggedOf(response.status, text))
  return text || null
}
