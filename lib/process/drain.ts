import { subscribe } from "node:diagnostics_channel"
import type { ServerResponse } from "node:http"
import { drainBackground } from "@/lib/platform/queues/background"
import { drainStreams } from "@/lib/platform/queues/stream-slots"
import { drainRequestLog } from "@/lib/request-log/write"

export async function drain(): Promise<void> {
  await drainStreams()
  await Promise.all([drainRequestLog(), drainBackground()])
}

/** Next's own handlers exit once all responses are sent, so this drains before them. */
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
