import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { overloaded } from "@/lib/postgres/load-shedding"
import { singleton } from "@/lib/singleton"

const idHeader = "x-response-id"

function pending(): Map<string, ServerResponse> {
  return singleton("responses", () => new Map())
}

/** Lets server actions and streams find their response: Next has no function for what they do with it. */
export function keepResponse(request: IncomingMessage, response: ServerResponse): void {
  const id = randomUUID()
  request.headers[idHeader] = id
  request.rawHeaders.push(idHeader, id)
  pending().set(id, response)
  // One more than Node expects, besides those of Next.
  response.setMaxListeners(response.getMaxListeners() + 1)
  response.once("close", () => pending().delete(id))
}

function responseTo(headers: Headers): ServerResponse | undefined {
  return pending().get(headers.get(idHeader) ?? "")
}

/** Makes the response to the request with these headers a 503 that shows the result of its form. */
export function respondOverloaded(headers: Headers): void {
  const response = responseTo(headers)
  if (!response) return
  response.statusCode = 503
  for (const [name, value] of Object.entries(overloaded.headers)) response.setHeader(name, value)
}

/**
 * Resets the connection of a response that cannot be completed. Over HTTP/1.0, which proxies speak, a connection that is
 * closed would complete it, and Next closes none while its client does not read.
 */
export function resetConnection(headers: Headers): void {
  const response = responseTo(headers)
  if (response?.socket) response.socket.resetAndDestroy()
  else response?.destroy()
}
