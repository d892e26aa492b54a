import cluster, { type Worker } from "node:cluster"
import { collectClusterMetrics } from "@/lib/telemetry/cluster-metrics"
import { log } from "@/lib/telemetry/log"
import { onShutdown } from "./shutdown"

/** So that a process that cannot live does not take the whole machine to die again and again. */
const restartAfterMs = 1_000

/** Runs `count` processes that share the port, of which the first sweeps. One that dies is replaced. */
export function startWorkers(count: number): void {
  let ending = false
  let hasServed = false

  function start(slot: number): void {
    const worker = cluster.fork(slot === 0 ? {} : { SWEEPER: "off" })
    worker.once("listening", () => {
      hasServed = true
    })
    worker.once("exit", (code) => {
      if (ending) return
      log().error({ code }, "worker_ended")
      if (hasServed) {
        setTimeout(() => ending || start(slot), restartAfterMs)
        return
      }
      // The first did not come up, and another one would not either.
      process.exitCode = 1
      end()
    })
  }

  function end(): void {
    ending = true
    for (const worker of workers()) worker.process.kill("SIGTERM")
  }

  collectClusterMetrics()
  for (let slot = 0; slot < count; slot++) start(slot)
  onShutdown(end)
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? [])
}
