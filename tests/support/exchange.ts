import { Agent, type IncomingHttpHeaders, request } from "node:http"
import { text } from "node:stream/consumers"

export type Exchange = { status: number; headers: IncomingHttpHeaders; body: string; ms: number }

type Sent = { method?: string; headers?: Record<string, string>; body?: string | Uint8Array }

// The client closes idle connections before the server does, so that no request is sent on a connection being closed.
const keptAlive = new Agent({ keepAlive: true, timeout: 50_000 })

/**
 * Sends a request with node:http: in Node 20, fetch can hang when the server is killed, despite an abort signal.
 * @param timeoutMs the time after which the client closes the connection
 * @param agent `false` for a new connection
 * @returns the response, or undefined if the connection closed before the response was complete
 */
export function exchange(
  url: string,
  { method = "GET", headers = {}, body }: Sent,
  timeoutMs = 15_000,
  agent: Agent | false = keptAlive,
): Promise<Exchange | undefined> {
  const started = performance.now()
  return new Promise((done) => {
    const sent = request(url, { method, headers, agent })
    const timeout = setTimeout(() => sent.destroy(), timeoutMs)
    const finish = (result?: Exchange) => {
      clearTimeout(timeout)
      done(result)
    }
    sent.on("error", () => finish())
    sent.on("response", (response) => {
      const { statusCode = 0, headers: received } = response
      text(response).then(
        (body) => finish({ status: statusCode, headers: received, body, ms: Math.round(performance.now() - started) }),
        () => finish(),
      )
    })
    sent.end(body)
  })
}
