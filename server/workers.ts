import cluster, { type Worker } from "node:cluster"
import { onEnd } from "./on-end"

/** A worker that ends sooner has not come up: another one would not either. */
const steadyAfterMs = 5_000

/** Runs `count` processes that share the port, one of which sweeps. One that dies is replaced. */
export function startWorkers(count: number): void {
  let ending = false

  function start(slot: number): void {
    const started = Date.now()
    const worker = cluster.fork({ SWEEPER: slot === 0 ? "on" : "off" })
    worker.once("exit", (code) => {
      if (ending) return
      if (Date.now() - started < steadyAfterMs) {
        end()
        process.exitCode = code || 1
        return
      }
      console.error(JSON.stringify({ level: "error", event: "worker_died", slot, code }))
      start(slot)
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
