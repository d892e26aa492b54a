import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { finished } from "node:stream/promises"
import { NodeRequest, sendNodeResponse } from "srvx/node"
import type { Handler } from "@/lib/api/respond"
import { log } from "@/lib/telemetry/log"
import { connectRefusal, refusalOf } from "./raw-errors"
import { handlerFor } from "./routes"

// How long a client may take. Proxies keep idle connections for 60 seconds as a rule: they are to close them first.
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
}

/**
 * How many requests may wait for their answers on one connection. Node reads all that arrived at once, a thousand in a few
 * kilobytes, and would have Next work on each.
 */
const maxOwed = 32

/** How long a connection with a request may stand still: longer than any answer takes, for clients that do not read. */
const stillMs = 60_000

/** How long a client that has its answer may go on sending what nobody reads. */
const lingerMs = 2_000

export type Listener = {
  server: Server
  /**
   * Takes no more connections and returns when the last answer is out. Connections on which none is owed are closed at
   * once, whatever their clients mean to send: nobody waits for them.
   */
  close: () => Promise<void>
}

type Connection = {
  /** How many answers are not out yet. */
  owed: number
  /** What was asked last: it may still be arriving. */
  last?: { request: IncomingMessage; response: ServerResponse }
  /** What the connection ends with, for what came then is no request. */
  lastWords?: string
}

/** A server that answers the API by its route functions and leaves everything else to Next. */
export function createListener(next: RequestListener): Listener {
  const connections = new Map<Socket, Connection>()
  let closing = false

  /** Ends a connection that is to end, once the answers that it is owed are out. */
  function closeWhenDone(socket: Socket): void {
    const connection = connections.get(socket)
    if (!connection || !(closing || connection.lastWords)) return
    const { owed, last, lastWords } = connection
    // A request that broke off in its body gets no answer but the last words, unless it has one already.
    const hasBroken = lastWords !== undefined && last?.request.complete === false
    if (owed > (hasBroken ? 1 : 0)) return
    if (lastWords && socket.writable && !(hasBroken && last?.response.headersSent)) socket.write(lastWords)
    socket.destroySoon()
  }

  function refuse(socket: Socket, lastWords: string): void {
    const connection = connections.get(socket)
    if (connection) connection.lastWords ??= lastWords
    closeWhenDone(socket)
  }

  const server = createServer(timeouts, (request, response) => {
    // A body that is given up takes the socket from its request.
    const { socket } = request
    const connection = connections.get(socket)
    if (connection) {
      if (connection.owed >= maxOwed) socket.destroy()
      if (socket.destroyed) return
      connection.owed++
      connection.last = { request, response }
    }
    response.once("close", () => {
      if (connection) connection.owed--
      closeWhenDone(socket)
    })
    // What a client sends behind a wish for another protocol is no longer read as HTTP.
    if (closing || request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const answer = handlerFor(request.method ?? "", request.url ?? "")
    if (answer) send(answer, request, response)
    else next(request, response)
  })
  // The size of a head bounds them: beyond a number Node drops them without a word, an Idempotency-Key, too.
  server.maxHeadersCount = 0
  server.timeout = stillMs
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { owed: 0 })
    socket.once("close", () => connections.delete(socket))
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuse(socket as Socket, refusalOf(error)))
  server.on("connect", (_request, socket) => {
    // From here on Node leaves the socket to us, and an error that nobody hears of ends the process.
    socket.on("error", () => socket.destroy())
    refuse(socket as Socket, connectRefusal())
  })

  function close(): Promise<void> {
    closing = true
    // Not of node:http: that one drops answers which are complete here and still on their way to a slow client.
    const closed = new Promise<void>((done) => NetServer.prototype.close.call(server, () => done()))
    for (const socket of connections.keys()) closeWhenDone(socket)
    return closed
  }
  return { server, close }
}

async function send(answer: Handler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // No route reads it, and what clients send need not be a host that a URL can have.
  request.headers.host = "localhost"
  try {
    const answered = await answer(new NodeRequest({ req: request, res: response }))
    await (request.complete ? sendNodeResponse(response, answered) : sendEarly(answered, request, response))
  } catch (error) {
    log().error({ why: String(error) }, "answer_not_sent")
    response.destroy()
  }
}

/**
 * Answers a client that is still sending, and tells it that nothing more is read. Closed at once the connection would be
 * reset, and the answer lost with it.
 */
async function sendEarly(answered: Response, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.shouldKeepAlive = false
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  response.flushHeaders()
  response.write(await answered.text())
  request.removeAllListeners("data").resume()
  await finished(request, { signal: AbortSignal.timeout(lingerMs) }).catch(() => {})
  response.end()
}
