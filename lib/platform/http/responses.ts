import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { overloaded } from "@/lib/platform/postgres/load-shedding"
import { singleton } from "@/lib/singleton"

const idHeader = "x-response-id"

function pending(): Map<string, ServerResponse> {
  return singleton("responses", () => new Map())
}

/** Next gives server actions and streams no access to their response. */
export function keepResponse(request: IncomingMessage, response: ServerResponse): void {
  const id = randomUUID()
  request.headers[idHeader] = id
  request.rawHeaders.push(idHeader, id)
  pending().set(id, response)
  // Next adds up to ten listeners, Node's limit, and we add three: here, in the listener and for the access log.
  response.setMaxListeners(response.getMaxListeners() + 3)
  response.once("close", () => pending().delete(id))
}

function responseTo(headers: Headers): ServerResponse | undefined {
  return pending().get(headers.get(idHeader) ?? "")
}

function unread(): WeakSet<ServerResponse> {
  return singleton("unread", () => new WeakSet())
}

export function isUnread({ [idHeader]: id }: Readonly<Record<string, string | string[] | undefined>>): boolean {
  const response = pending().get(String(id))
  return response !== undefined && unread().has(response)
}

/** A later failure is not the client's fault. */
export function markRead(headers: Headers): void {
  const response = responseTo(headers)
  if (response) unread().delete(response)
}

/** Turns Next's 500 for a form with unreadable arguments into a 400. No code of the product has run then. */
export function refuseUnreadable({ headers }: IncomingMessage, response: ServerResponse): void {
  const isAction = headers["next-action"] !== undefined
  if (!isAction && !headers["content-type"]?.startsWith("multipart/form-data")) return
  unread().add(response)
  const { writeHead, write, end } = response
  let refused = false
  response.writeHead = (status: number, ...rest: unknown[]) => {
    refused = status === 500 && unread().has(response)
    if (refused) response.removeHeader("content-length")
    return Reflect.apply(writeHead, response, [refused ? 400 : status, ...rest])
  }
  // The script of the page reads the response to an action; without scripts, a person does.
  const isReplaced = () => {
    if (response.statusCode === 500 && !response.headersSent) response.writeHead(500)
    return refused && !isAction
  }
  response.write = (...given: unknown[]) => isReplaced() || Reflect.apply(write, response, given)
  response.end = (...given: unknown[]) => Reflect.apply(end, response, isReplaced() ? [unreadable] : given)
  // Next sets the status once more, which nobody gets.
  response.prependOnceListener("close", () => {
    if (refused) response.statusCode = 400
  })
}

const unreadable = "This form is not readable. Reload the page and try again."

export function respondOverloaded(headers: Headers): void {
  const response = responseTo(headers)
  if (!response) return
  response.statusCode = 503
  for (const [name, value] of Object.entries(overloaded.headers)) response.setHeader(name, value)
}

/**
 * Over HTTP/1.0, which proxies speak, a closed connection would complete the response. Next closes none while its
 * client does not read.
 */
export function resetConnection(headers: Headers): void {
  const response = responseTo(headers)
  if (response?.socket) response.socket.resetAndDestroy()
  else response?.destroy()
}
