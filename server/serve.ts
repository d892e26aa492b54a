import { once } from "node:events"
import { Server } from "node:http"
import { env } from "@/lib/env"
import { startProcess } from "@/lib/next/start"
import { shareMetrics } from "@/lib/telemetry/cluster-metrics"
import { log } from "@/lib/telemetry/log"
import { createListener } from "./listener"
import { onShutdown } from "./shutdown"

/** How long a request under way may take to end once the process is asked to. */
const graceMs = 25_000

/** Serves on HOST and PORT until the process is asked to end. */
export async function serve(): Promise<void> {
  const { PORT: port, HOST: host, SWEEPER: sweeper } = env()
  // Not imported above: while it is loaded, Next chooses between React's builds by NODE_ENV.
  const { default: next } = await import("next")
  // Next would close what asks for another protocol; on a server that never asks it, such a request is like any other.
  const app = next({ port, hostname: host ?? "localhost", httpServer: new Server() })
  const tracing = await startProcess()
  shareMetrics()
  process.on("unhandledRejection", (error) => {
    log().error({ why: String(error) }, "unhandled_rejection")
  })
  const { server, close } = createListener(app.getRequestHandler())
  try {
    await app.prepare()
    server.listen(port, host)
    await once(server, "listening")
  } catch (error) {
    console.error(`The server cannot start: ${error instanceof Error ? error.message : error}`)
    process.exit(1)
  }
  console.log(`Process ${process.pid} listens on http://${host ?? "localhost"}:${port}, its sweeper ${sweeper}`)
  onShutdown(async () => {
    setTimeout(() => process.exit(1), graceMs).unref()
    await close()
    await app.close()
    await tracing?.flush()
    process.exit(0)
  })
}
