import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { overloaded } from "@/lib/postgres/load-shedding"
import { singleton } from "@/lib/singleton"

const idHeader = "x-response-id"

function pending(): Map<string, ServerResponse> {
  return singleton("responses", () => new Map())
}

/** Lets a server action find its response: Next has no function that sets its status. */
export function keepResponse(request: IncomingMessage, response: ServerResponse): void {
  const id = randomUUID()
  request.headers[idHeader] = id
  pending().set(id, response)
  // One more than Node expects, besides those of Next.
  response.setMaxListeners(response.getMaxListeners() + 1)
  response.once("close", () => pending().delete(id))
}

/** Makes the response to the request with these headers a 503 that shows the result of its form. */
export function respondOverloaded(headers: Headers): void {
  const response = pending().get(headers.get(idHeader) ?? "")
  if (!response) return
  response.statusCode = 503
  for (const [name, value] of Object.entries(overloaded.headers)) response.setHeader(name, value)
}
