import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "@/scripts/postgres"

/** A fault on the network path to a dependency. */
export type Fault =
  | { kind: "none" }
  /** New connections are refused and open ones are reset. */
  | { kind: "refused" }
  /** Open connections are reset, and new ones right after they are accepted. */
  | { kind: "reset" }
  /** Connections stay open but pass no data, even after the fault: as if a firewall had dropped their state. */
  | { kind: "half-open" }
  /** Data is delayed in both directions. */
  | { kind: "latency"; ms: number }
  /** Responses arrive a few bytes at a time. */
  | { kind: "slow" }
  /** Every response is cut off after a few bytes, and its connection is reset. */
  | { kind: "cut" }
  /** The response to the first request that contains this text is cut off; then the fault is over. */
  | { kind: "cut-once"; to: string }

type Address = { host: string; port: number }

export type FaultyProxy = {
  port: number
  set: (fault: Fault) => Promise<void>
  /** Leads new connections to another port. */
  moveTo: (port: number) => void
  /** The number of open connections. */
  count: () => number
  /** The bytes that the dependency has sent. */
  received: () => number
  stop: () => Promise<void>
}

const slowChunk = { bytes: 4, everyMs: 100 }

/**
 * Starts a local proxy between an application and a dependency, which can inject faults into its connections.
 * @param target its port on 127.0.0.1, or another address of this machine
 * @param at a free port if omitted
 */
export async function startFaultyProxy(target: number | Address, at?: Address): Promise<FaultyProxy> {
  const destination = typeof target === "number" ? { host: "127.0.0.1", port: target } : { ...target }
  const { host, port } = at ?? { host: "127.0.0.1", port: await freePort() }
  const pairs = new Map<Socket, { stale: boolean; cut: boolean }>()
  let fault: Fault = { kind: "none" }
  let received = 0

  const server = createServer({ noDelay: true }, (near) => {
    near.on("error", () => {})
    if (fault.kind === "reset") return near.resetAndDestroy()
    const pair = { stale: fault.kind === "half-open", cut: false }
    pairs.set(near, pair)
    const far = connect({ ...destination, noDelay: true })
    far.on("error", () => near.resetAndDestroy())
    near.on("close", () => {
      pairs.delete(near)
      far.destroy()
    })
    const upstream = inOrder()
    const downstream = inOrder()
    far.on("close", () => pair.stale || downstream(() => near.destroySoon()))
    near.on("data", (chunk) => {
      if (fault.kind === "cut-once" && chunk.includes(fault.to)) {
        pair.cut = true
        fault = { kind: "none" }
      }
      if (!pair.stale) upstream(() => far.write(chunk), delay())
    })
    far.on("data", (chunk) => {
      received += chunk.length
      if (pair.stale) return
      if (pair.cut || fault.kind === "cut") cutOff(chunk, near)
      else downstream(() => (fault.kind === "slow" ? writeSlowly(chunk, near) : near.write(chunk)), delay())
    })
  })

  function delay(): Promise<void> | undefined {
    return fault.kind === "latency" ? sleep(fault.ms) : undefined
  }

  function listen(): Promise<unknown> {
    server.listen(port, host)
    return once(server, "listening")
  }

  async function set(next: Fault): Promise<void> {
    fault = next
    if (next.kind === "half-open") for (const pair of pairs.values()) pair.stale = true
    if (next.kind === "refused") server.close()
    else if (!server.listening) await listen()
    if (next.kind === "refused" || next.kind === "reset") for (const near of pairs.keys()) near.resetAndDestroy()
  }

  await listen()
  return {
    port,
    set,
    moveTo(port) {
      destination.port = port
    },
    count: () => pairs.size,
    received: () => received,
    async stop() {
      await set({ kind: "refused" })
    },
  }
}

/** Returns a function that runs actions in order, each after its delay. */
function inOrder() {
  let last: Promise<unknown> = Promise.resolve()
  return (act: () => unknown, delay?: Promise<void>) => {
    last = last.then(() => delay).then(act)
  }
}

function cutOff(chunk: Buffer, near: Socket): void {
  near.write(chunk.subarray(0, 7), () => near.resetAndDestroy())
}

async function writeSlowly(chunk: Buffer, near: Socket): Promise<void> {
  for (let from = 0; from < chunk.length && !near.destroyed; from += slowChunk.bytes) {
    near.write(chunk.subarray(from, from + slowChunk.bytes))
    await sleep(slowChunk.everyMs)
  }
}
