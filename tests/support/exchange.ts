import { Agent, type IncomingHttpHeaders, request } from "node:http"
import { text } from "node:stream/consumers"

export type Exchange = { status: number; headers: IncomingHttpHeaders; body: string; ms: number }

type Sent = { method?: string; headers?: Record<string, string>; body?: string | Uint8Array }

// An idle connection is closed here before the server does so: a request could meet its end half way.
const keptAlive = new Agent({ keepAlive: true, timeout: 50_000 })

/**
 * Sends a request and gives what came back, or nothing when the connection ended before the answer did. With node:http,
 * for Node 20's fetch can wait forever when its server is killed, whatever its signal says.
 * @param patienceMs after which it hangs up
 * @param agent `false` for a connection of its own
 */
export function exchange(
  url: string,
  { method = "GET", headers = {}, body }: Sent,
  patienceMs = 15_000,
  agent: Agent | false = keptAlive,
): Promise<Exchange | undefined> {
  const started = performance.now()
  return new Promise((done) => {
    const sent = request(url, { method, headers, agent })
    const patience = setTimeout(() => sent.destroy(), patienceMs)
    const give = (answer?: Exchange) => {
      clearTimeout(patience)
      done(answer)
    }
    sent.on("error", () => give())
    sent.on("response", (response) => {
      const { statusCode = 0, headers: received } = response
      text(response).then(
        (answer) =>
          give({ status: statusCode, headers: received, body: answer, ms: Math.round(performance.now() - started) }),
        () => give(),
      )
    })
    sent.end(body)
  })
}
