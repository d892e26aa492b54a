import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import { NodeRequest, sendNodeResponse } from "srvx/node"
import type { Answer } from "@/lib/api/answer"
import { answerFor } from "./routes"

// How long a client may take. Proxies keep idle connections for 60 seconds as a rule: they are to close them first.
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
}

/** A server that answers the API by its route functions and leaves everything else to Next. */
export function createListener(next: RequestListener): Server {
  const server = createServer(timeouts, (request, response) => {
    const answer = answerFor(request.method ?? "", request.url ?? "")
    if (answer) send(answer, request, response)
    else next(request, response)
  })
  server.on("connect", (_request, socket) => {
    socket.end("HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
  })
  return server
}

async function send(answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    await sendNodeResponse(response, await answer(new NodeRequest({ req: request, res: response })))
  } catch (error) {
    console.error(JSON.stringify({ level: "error", event: "answer_not_sent", why: String(error) }))
    response.destroy()
  }
}

/**
 * Takes no more connections and returns when the last answer is out. A connection is closed as soon as it is idle, for
 * its client may keep it open longer than anybody waits.
 */
export function close(server: Server): Promise<void> {
  server.on("request", (_request, response) => {
    response.shouldKeepAlive = false
  })
  return new Promise((done) => {
    const closing = setInterval(() => server.closeIdleConnections(), 100)
    server.close(() => {
      clearInterval(closing)
      done()
    })
  })
}
