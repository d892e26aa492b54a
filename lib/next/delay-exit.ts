import { drainRequestLog } from "@/lib/request-log/write"

/** Writes the request log before Next's own handlers of shutdown signals, which exit once all responses are sent, run. */
export function delayExit(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const handlers = process.listeners(signal)
    if (handlers.length === 0) continue
    process.removeAllListeners(signal)
    process.on(signal, async () => {
      await drainRequestLog()
      for (const handler of handlers) handler(signal)
    })
  }
}
