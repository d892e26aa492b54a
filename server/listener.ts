import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { finished } from "node:stream/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { NodeRequest, sendNodeResponse } from "srvx/node"
import type { Handler } from "@/lib/api/methods"
import { inTurn, TooManyWaiting } from "@/lib/platform/queues/turns"
import { log } from "@/lib/platform/telemetry/log"
import { isPage, shedPage } from "@/lib/process/page-shedding"
import { addressOf, Bodies, hasBody, text } from "./bodies"
import { compress } from "./compress"
import { connectRefusal, refusalOf, sizeRefusal } from "./raw-errors"
import { handlerFor } from "./routes"

// Proxies usually keep idle connections for 60 seconds and should close them first.
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
}

/** Node reads all pipelined requests, a thousand in a few kilobytes, and Next would process each of them. */
const maxPending = 32

/** For clients that do not read: longer than any response takes. */
const idleMs = 60_000

/** A client that has its response may send its body for so long; the body is discarded. */
const lingerMs = 2_000

/** For clients that read slowly: longer than a page takes. */
const turnMs = 5_000

export type NextHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export type Listener = {
  server: Server
  /**
   * Resolves when the last response is sent. Connections without a pending response are closed immediately, even if
   * their clients are about to send a request.
   */
  close: () => Promise<void>
}

type Connection = {
  pending: number
  /** Its body may still be arriving. */
  last?: { request: IncomingMessage; response: ServerResponse }
  /** For invalid HTTP; the connection is closed after it. */
  finalResponse?: string
}

export function createListener(next: NextHandler): Listener {
  const connections = new Map<Socket, Connection>()
  let closing = false

  function closeWhenDone(socket: Socket): void {
    const connection = connections.get(socket)
    if (!connection || !(closing || connection.finalResponse)) return
    const { pending, last, finalResponse } = connection
    // A request with a truncated body gets only the final response, unless it already has a response.
    const isTruncated = finalResponse !== undefined && last?.request.complete === false
    if (pending > (isTruncated ? 1 : 0)) return
    if (finalResponse && socket.writable && !(isTruncated && last?.response.headersSent)) socket.write(finalResponse)
    socket.destroySoon()
  }

  function refuse(socket: Socket, finalResponse: string): void {
    const connection = connections.get(socket)
    if (connection) connection.finalResponse ??= finalResponse
    closeWhenDone(socket)
  }

  const bodies = new Bodies()

  /** A refusal here costs a tenth of a refusal in Next. */
  function pass(request: IncomingMessage, response: ServerResponse): void {
    const refusal = shedOf(request)
    if (refusal) sendNodeResponse(response, refusal).catch(() => response.destroy())
    else passInTurn(request, response)
  }

  /** Pages that wait here do not make the API wait for the event loop. */
  function passInTurn(request: IncomingMessage, response: ServerResponse): void {
    if (!isPage(pathOf(request))) return void next(request, response)
    const left = new AbortController()
    response.once("close", () => left.abort())
    const handle = () => Promise.race([next(request, response), sleep(turnMs, undefined, { ref: false })])
    // A form that arrives slowly does not keep pages waiting.
    const kind = hasBody(request) && !request.complete ? "slow forms" : "pages"
    inTurn(`${kind} of ${addressOf(request)}`, "request", handle, left.signal).catch((error) => {
      if (error instanceof TooManyWaiting) {
        const refusal = text(429, "Too many pages are being loaded from here. Try again in a moment.")
        return sendEarly(refusal, request, response).catch(() => response.destroy())
      }
      if (!left.signal.aborted) throw error
    })
  }

  /** Most bodies have arrived by now, with the head of their request. */
  function passWithBody(request: IncomingMessage, response: ServerResponse): void {
    // Its close event, which would free its place, has been emitted.
    if (request.destroyed) return
    const refusal =
      shedOf(request) ?? bodies.refusalOf(request, (maxBytes) => refuse(request.socket, sizeRefusal(maxBytes)))
    if (refusal) sendEarly(refusal, request, response).catch(() => response.destroy())
    else passInTurn(request, response)
  }

  const server = createServer(timeouts, (request, response) => {
    // Node removes the socket from a request whose body is aborted.
    const { socket } = request
    const connection = connections.get(socket)
    if (connection) {
      if (connection.pending >= maxPending) socket.destroy()
      if (socket.destroyed) return
      connection.pending++
      connection.last = { request, response }
    }
    response.once("close", () => {
      if (connection) connection.pending--
      closeWhenDone(socket)
    })
    // Node does not parse the data after an Upgrade request as HTTP, so the connection is closed.
    if (closing || request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const handler = handlerFor(request.method ?? "", request.url ?? "")
    if (handler) send(handler, request, response)
    else if (hasBody(request)) setImmediate(passWithBody, request, response)
    else pass(request, response)
  })
  // The size limit bounds the number of headers. With a count limit Node silently drops some, even an Idempotency-Key.
  server.maxHeadersCount = 0
  server.timeout = idleMs
  // Over HTTP/1.0, which proxies speak, closing a connection would complete a response that its client does not read.
  server.on("timeout", (socket: Socket) => {
    if (connections.get(socket)?.pending) socket.resetAndDestroy()
    else socket.destroy()
  })
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { pending: 0 })
    socket.once("close", () => connections.delete(socket))
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuse(socket as Socket, refusalOf(error)))
  server.on("connect", (_request, socket) => {
    // Node no longer handles this socket, and an error without a listener would crash the process.
    socket.on("error", () => socket.destroy())
    refuse(socket as Socket, connectRefusal())
  })

  function close(): Promise<void> {
    closing = true
    // Not the close of node:http, which drops complete responses that a slow client is still receiving.
    const closed = new Promise<void>((done) => NetServer.prototype.close.call(server, () => done()))
    for (const socket of connections.keys()) closeWhenDone(socket)
    return closed
  }
  return { server, close }
}

function shedOf(request: IncomingMessage): Response | undefined {
  return shedPage(pathOf(request))
}

function pathOf({ url = "" }: IncomingMessage): string {
  const [path = ""] = url.split("?", 1)
  return path
}

async function send(handler: Handler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // No route reads the Host header, and a client may send a value that is invalid in a URL.
  request.headers.host = "localhost"
  try {
    const result = await handler(new NodeRequest({ req: request, res: response }))
    if (request.complete) await sendNodeResponse(response, await compress(request, result))
    else await sendEarly(result, request, response)
  } catch (error) {
    log().error({ why: String(error) }, "response_not_sent")
    response.destroy()
  }
}

/** An immediate close would reset the connection, and the client would lose the response. */
async function sendEarly(result: Response, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.shouldKeepAlive = false
  // A stream has no length, and does not fit into memory.
  if (result.status === 200 && !result.headers.has("content-length")) {
    request.removeAllListeners("data").resume()
    return sendNodeResponse(response, result)
  }
  response.writeHead(result.status, Object.fromEntries(result.headers))
  response.flushHeaders()
  response.write(await result.text())
  request.removeAllListeners("data").resume()
  await finished(request, { signal: AbortSignal.timeout(lingerMs) }).catch(() => {})
  response.end()
}
