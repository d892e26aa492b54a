import cluster from "node:cluster"
import { collectClusterMetrics } from "@/lib/platform/telemetry/cluster-metrics"
import { log } from "@/lib/platform/telemetry/log"
import { onShutdown } from "./shutdown"

/** A worker that keeps crashing must not use up the CPU. */
const restartAfterMs = 1_000

export function startWorkers(count: number): void {
  let ending = false
  let hasListened = false

  function start(slot: number): void {
    const worker = cluster.fork(slot === 0 ? {} : { SWEEPER: "off" })
    worker.once("listening", () => {
      hasListened = true
    })
    worker.once("exit", (code) => {
      if (ending) return
      log().error({ code }, "worker_ended")
      if (hasListened) {
        setTimeout(() => ending || start(slot), restartAfterMs)
        return
      }
      // No worker has ever listened, so a new one would fail too.
      process.exitCode = 1
      end()
    })
  }

  function end(): void {
    ending = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM")
  }

  collectClusterMetrics()
  for (let slot = 0; slot < count; slot++) start(slot)
  onShutdown(end)
}
