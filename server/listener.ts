import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { NodeRequest, sendNodeResponse } from "srvx/node"
import type { Answer } from "@/lib/api/answer"
import { log } from "@/lib/log"
import { answerFor } from "./routes"

// How long a client may take. Proxies keep idle connections for 60 seconds as a rule: they are to close them first.
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
}

export type Listener = {
  server: Server
  /**
   * Takes no more connections and returns when the last answer is out. Connections on which none is owed are closed at
   * once, whatever their clients mean to send: nobody waits for them.
   */
  close: () => Promise<void>
}

/** A server that answers the API by its route functions and leaves everything else to Next. */
export function createListener(next: RequestListener): Listener {
  /** How many answers each is owed. */
  const connections = new Map<Socket, { owed: number }>()
  let closing = false

  function closeWhenDone(socket: Socket): void {
    if (connections.get(socket)?.owed === 0) socket.destroySoon()
  }

  const server = createServer(timeouts, (request, response) => {
    const connection = connections.get(request.socket)
    if (connection) connection.owed++
    response.once("close", () => {
      if (connection) connection.owed--
      if (closing) closeWhenDone(request.socket)
    })
    if (closing) response.shouldKeepAlive = false
    const answer = answerFor(request.method ?? "", request.url ?? "")
    if (answer) send(answer, request, response)
    else next(request, response)
  })
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { owed: 0 })
    socket.once("close", () => connections.delete(socket))
  })
  server.on("connect", (_request, socket) => {
    socket.end("HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
  })

  function close(): Promise<void> {
    closing = true
    const closed = new Promise<void>((done) => server.close(() => done()))
    for (const socket of connections.keys()) closeWhenDone(socket)
    return closed
  }
  return { server, close }
}

async function send(answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // No route reads it, and what clients send need not be a host that a URL can have.
  request.headers.host = "localhost"
  try {
    await sendNodeResponse(response, await answer(new NodeRequest({ req: request, res: response })))
  } catch (error) {
    log().error({ why: String(error) }, "answer_not_sent")
    response.destroy()
  }
}
