import cluster from "node:cluster"
import { randomUUID } from "node:crypto"
import { AggregatorRegistry } from "prom-client"
import { singleton } from "@/lib/singleton"
import { metrics } from "./metrics"

// A scrape reaches one of several workers, but must cover all: the worker requests the sum from the primary process.

type Message = { kind: "metrics"; id: string; text?: string }

function isMessage(message: unknown): message is Message {
  return typeof message === "object" && message !== null && (message as Partial<Message>).kind === "metrics"
}

/** Undefined if a process does not report its metrics. */
export async function readClusterMetrics(): Promise<string | undefined> {
  return cluster.isWorker ? requestFromPrimary() : metrics().registry.metrics()
}

/** For the primary process. */
export function collectClusterMetrics(): void {
  const all = new AggregatorRegistry()
  cluster.on("message", async (worker, message: unknown) => {
    if (!isMessage(message)) return
    const text = await all.clusterMetrics().catch(() => undefined)
    if (worker.isConnected()) worker.send({ ...message, text })
  })
}

/** For workers. */
export function shareMetrics(): void {
  AggregatorRegistry.setRegistries(metrics().registry)
  new AggregatorRegistry()
}

function requestFromPrimary(): Promise<string | undefined> {
  const id = randomUUID()
  return new Promise((done) => {
    pendingRequests().set(id, done)
    process.send?.({ kind: "metrics", id } satisfies Message)
  })
}

function pendingRequests(): Map<string, (text: string | undefined) => void> {
  return singleton("metrics-asked", () => {
    const pending = new Map<string, (text: string | undefined) => void>()
    process.on("message", (message: unknown) => {
      if (!isMessage(message)) return
      pending.get(message.id)?.(message.text)
      pending.delete(message.id)
    })
    return pending
  })
}
