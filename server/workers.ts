import cluster, { type Worker } from "node:cluster"
import { onEnd } from "./on-end"

/** Runs `count` processes that share the port, of which the first sweeps. One that dies is replaced. */
export function startWorkers(count: number): void {
  let ending = false

  function start(slot: number): void {
    const worker = cluster.fork(slot === 0 ? {} : { SWEEPER: "off" })
    let hasServed = false
    worker.once("listening", () => {
      hasServed = true
    })
    worker.once("exit", (code) => {
      if (ending) return
      console.error(JSON.stringify({ level: "error", event: "worker_ended", code }))
      if (hasServed) return start(slot)
      // Another one would not come up either.
      process.exitCode = 1
      end()
    })
  }

  function end(): void {
    ending = true
    for (const worker of workers()) worker.process.kill("SIGTERM")
  }

  for (let slot = 0; slot < count; slot++) start(slot)
  onEnd(end)
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? [])
}
