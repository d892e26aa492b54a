import { endpoints, type ServedEndpoint } from "@/app/api/v1/endpoints"
import { permits } from "@/lib/api/authenticate"
import { type Call, knownParameters } from "@/lib/api/endpoint"
import type { Refusal } from "@/lib/api/errors"
import type { Surface } from "@/lib/surfaces"

/** One message. */
export type Session = {
  call: Call
  surface: Surface
  /** The endpoints of the surface that the key may call. */
  endpoints: readonly ServedEndpoint[]
  /** A refusal that has to be the response itself. */
  refusal?: Refusal
}

let loaded: Promise<ServedEndpoint[]> | undefined

export async function startSession(call: Call): Promise<Session> {
  const { surface } = call.access
  loaded ??= endpoints()
  const all = await loaded
  return { call, surface, endpoints: all.filter((row) => row.surface === surface && permits(call.caller, row)) }
}

/** @returns the body of the response of the endpoint to a request of the caller, in JSON. @throws Refusal */
export async function send(
  { call }: Session,
  endpoint: ServedEndpoint,
  { query = {}, body }: { query?: Readonly<Record<string, string>>; body?: unknown } = {},
): Promise<string> {
  const { draft, deadline } = call
  const { key, verdict } = call.caller
  const { method, path, routes } = endpoint
  const url = new URL(`${path}?${new URLSearchParams(query)}`, call.url)
  const headers = new Headers(call.request.headers)
  headers.set("accept", "application/json")
  headers.set("content-type", "application/json")
  for (const name of ["content-length", "transfer-encoding"]) headers.delete(name)
  // Making a Request takes longer than the rest of this call.
  const request = {
    method,
    headers,
    body: body === undefined ? null : new Response(JSON.stringify(body)).body,
    get signal() {
      return call.request.signal
    },
  }
  draft.parameters = knownParameters(endpoint, url)
  const response = await routes[method].perform({ request, url, key, verdict, deadline, draft })
  return response as string
}

/** The request log, and so the report of a leaked key, names the tool and the dataset. @param words from a closed set */
export function labelCall({ call }: Session, ...words: readonly string[]): void {
  call.draft.route = [call.url.pathname, ...words].join(" ")
}
