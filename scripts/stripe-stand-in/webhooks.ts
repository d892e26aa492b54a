import { createHmac } from "node:crypto"
import type { Event } from "./objects"

/** The value of `Stripe-Signature`: https://docs.stripe.com/webhooks/signature */
export function sign(body: string, secret: string, seconds = Math.floor(Date.now() / 1000)): string {
  return `t=${seconds},v1=${createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex")}`
}

/** `deliver` sends each event at once, `hold` keeps them until `release`, `silent` sends nothing: for outages. */
export const modes = ["deliver", "hold", "silent"] as const

export type Mode = (typeof modes)[number]

export type Attempt = { event: string; type: string; status: number | null; at: number }

/** Milliseconds until an event that was not accepted is sent again; Stripe takes three days for its attempts. */
const waits = [1_000, 5_000, 30_000, 120_000, 600_000]

/** Sends events one after another, and again until they are accepted. */
export class Webhooks {
  url: string | undefined
  mode: Mode = "deliver"
  /** How often each event is sent. */
  copies = 1
  attempts: Attempt[] = []
  #held: Event[] = []
  #queue: Promise<void> = Promise.resolve()
  #timers = new Set<NodeJS.Timeout>()
  #hasStopped = false

  constructor(readonly secret: string) {}

  push(event: Event): void {
    if (this.mode === "hold") this.#held.push(event)
    if (this.mode === "deliver") this.#enqueue(event)
  }

  /** Sends the held events, in the given order of their indexes. */
  release(order: (count: number) => number[]): void {
    const held = this.#held.splice(0)
    for (const index of order(held.length)) if (held[index]) this.#enqueue(held[index])
  }

  send(events: readonly Event[]): void {
    for (const event of events) this.#enqueue(event)
  }

  /** Resolves when all events of the queue were tried once. */
  async settled(): Promise<void> {
    for (let queue = this.#queue; ; queue = this.#queue) {
      await queue
      if (queue === this.#queue) return
    }
  }

  stop(): void {
    this.#hasStopped = true
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #enqueue(event: Event, attempt = 0): void {
    for (let copy = 0; copy < this.copies; copy++)
      this.#queue = this.#queue.then(() => this.#send(event, copy === 0 ? attempt : waits.length))
  }

  async #send(event: Event, attempt: number): Promise<void> {
    if (this.url === undefined || this.#hasStopped) return
    const body = JSON.stringify({ ...event, pending_webhooks: 1 })
    const headers = { "content-type": "application/json", "stripe-signature": sign(body, this.secret) }
    const signal = AbortSignal.timeout(20_000)
    const status = await fetch(this.url, { method: "POST", body, headers, signal, redirect: "manual" }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => null,
    )
    this.attempts.push({ event: event.id, type: event.type, status, at: Date.now() })
    if (this.attempts.length > 5_000) this.attempts.shift()
    if (status !== null && status >= 200 && status < 300) {
      event.pending_webhooks = 0
      return
    }
    const wait = waits[attempt]
    if (wait === undefined || this.#hasStopped) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#enqueue(event, attempt + 1)
    }, wait)
    this.#timers.add(timer.unref())
  }
}
