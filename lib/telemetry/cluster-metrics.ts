import cluster from "node:cluster"
import { randomUUID } from "node:crypto"
import { AggregatorRegistry } from "prom-client"
import { singleton } from "@/lib/singleton"
import { metrics } from "./metrics"

// One of several processes gets the question, and the answer is to be of all: it asks the first, which asks each.

type Message = { tsk: "metrics"; id: string; text?: string }

function isMessage(message: unknown): message is Message {
  return typeof message === "object" && message !== null && (message as Partial<Message>).tsk === "metrics"
}

/** The metrics of the service's processes on this machine, added up; nothing when one of them does not say its own. */
export async function readClusterMetrics(): Promise<string | undefined> {
  return cluster.isWorker ? ask() : metrics().registry.metrics()
}

/** For the first process: answers those that ask. */
export function collectClusterMetrics(): void {
  const all = new AggregatorRegistry()
  cluster.on("message", async (worker, message: unknown) => {
    if (!isMessage(message)) return
    const text = await all.clusterMetrics().catch(() => undefined)
    if (worker.isConnected()) worker.send({ ...message, text })
  })
}

/** For each of the other processes: hands its registry to the first when that asks. */
export function shareMetrics(): void {
  AggregatorRegistry.setRegistries(metrics().registry)
  new AggregatorRegistry()
}

function ask(): Promise<string | undefined> {
  const id = randomUUID()
  return new Promise((done) => {
    waiting().set(id, done)
    process.send?.({ tsk: "metrics", id } satisfies Message)
  })
}

function waiting(): Map<string, (text: string | undefined) => void> {
  return singleton("metrics-asked", () => {
    const asked = new Map<string, (text: string | undefined) => void>()
    process.on("message", (message: unknown) => {
      if (!isMessage(message)) return
      asked.get(message.id)?.(message.text)
      asked.delete(message.id)
    })
    return asked
  })
}
