import { subscribe } from "node:diagnostics_channel"
import type { ServerResponse } from "node:http"
import { drain } from "./drain"

/** Finishes the work in the background before Next's own handlers of shutdown signals, which exit once all responses are sent, run. */
export function delayExit(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const handlers = process.listeners(signal)
    if (handlers.length === 0) continue
    process.removeAllListeners(signal)
    process.on(signal, async () => {
      // A server of Node that closes keeps a connection for as long as its client goes on sending requests.
      subscribe("http.server.request.start", (message) => {
        const { response } = message as { response: ServerResponse }
        response.shouldKeepAlive = false
      })
      await drain()
      for (const handler of handlers) handler(signal)
    })
  }
}
