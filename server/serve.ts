import { once } from "node:events"
import { Server } from "node:http"
import { env } from "@/lib/env"
import { shareMetrics } from "@/lib/platform/telemetry/cluster-metrics"
import { log } from "@/lib/platform/telemetry/log"
import { tell } from "@/lib/platform/telemetry/printed"
import { version } from "@/lib/platform/version"
import { refuseToStart } from "@/lib/process/database-checks"
import { drain } from "@/lib/process/drain"
import { startProcess } from "@/lib/process/start"
import config from "@/next.config"
import { createListener } from "./listener"
import { onShutdown } from "./shutdown"

const graceMs = 25_000

export async function serve(): Promise<void> {
  const { PORT: port, HOST: host, SWEEPER: sweeper } = env()
  // Imported here and not above: when it is loaded, Next chooses React's build by NODE_ENV, which main.ts sets.
  const { default: next } = await import("next")
  // Next's upgrade handler closes connections. On an unused server it never runs; our listener handles such requests.
  // With its configuration from here, Next needs no compiler for next.config.ts.
  const app = next({ port, hostname: host ?? "localhost", httpServer: new Server(), conf: config })
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
    refuseToStart(error instanceof Error ? error.message : String(error))
  }
  tell(
    "stdout",
    `Process ${process.pid} listens on http://${host ?? "localhost"}:${port}, sweeper ${sweeper}, version ${version}`,
  )
  onShutdown(async () => {
    setTimeout(() => process.exit(1), graceMs).unref()
    await Promise.all([close(), drain()])
    await app.close()
    await tracing?.flush()
    process.exit(0)
  })
}
