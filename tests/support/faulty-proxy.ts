import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "@/scripts/postgres"

/** What is wrong with the way to a dependency. */
export type Fault =
  | { kind: "none" }
  /** Nobody listens, and whoever was connected is cut off. */
  | { kind: "refused" }
  /** Whoever connects is cut off at once. */
  | { kind: "reset" }
  /** Connections stand and nothing comes through, not even once the fault is over: as when a firewall has forgotten them. */
  | { kind: "half-open" }
  /** Everything arrives this much later, on either way. */
  | { kind: "latency"; ms: number }
  /** Answers come in drops. */
  | { kind: "slow" }
  /** Every answer breaks off after a few bytes, with its connection. */
  | { kind: "cut" }
  /** So does the first answer to what contains this text; then the fault is over. */
  | { kind: "cut-once"; to: string }

export type FaultyProxy = {
  port: number
  set: (fault: Fault) => Promise<void>
  /** Connections that stand at the moment. */
  count: () => number
  stop: () => Promise<void>
}

const drop = { bytes: 4, everyMs: 100 }

/** A proxy on this machine between an application and what it depends on, whose connections can be made to fail. */
export async function startFaultyProxy(target: number): Promise<FaultyProxy> {
  const port = await freePort()
  const pairs = new Map<Socket, { forgotten: boolean; cut: boolean }>()
  let fault: Fault = { kind: "none" }

  const server = createServer({ noDelay: true }, (near) => {
    near.on("error", () => {})
    if (fault.kind === "reset") return near.resetAndDestroy()
    const pair = { forgotten: fault.kind === "half-open", cut: false }
    pairs.set(near, pair)
    const far = connect({ port: target, host: "127.0.0.1", noDelay: true })
    far.on("error", () => near.resetAndDestroy())
    near.on("close", () => {
      pairs.delete(near)
      far.destroy()
    })
    const out = inOrder()
    const back = inOrder()
    far.on("close", () => pair.forgotten || back(() => near.destroySoon()))
    near.on("data", (chunk) => {
      if (fault.kind === "cut-once" && chunk.includes(fault.to)) {
        pair.cut = true
        fault = { kind: "none" }
      }
      if (!pair.forgotten) out(() => far.write(chunk), arrival())
    })
    far.on("data", (chunk) => {
      if (pair.forgotten) return
      if (pair.cut || fault.kind === "cut") breakOff(chunk, near)
      else back(() => (fault.kind === "slow" ? drip(chunk, near) : near.write(chunk)), arrival())
    })
  })

  function arrival(): Promise<void> | undefined {
    return fault.kind === "latency" ? sleep(fault.ms) : undefined
  }

  function listen(): Promise<unknown> {
    server.listen(port, "127.0.0.1")
    return once(server, "listening")
  }

  async function set(next: Fault): Promise<void> {
    fault = next
    if (next.kind === "half-open") for (const pair of pairs.values()) pair.forgotten = true
    if (next.kind === "refused") server.close()
    else if (!server.listening) await listen()
    if (next.kind === "refused" || next.kind === "reset") for (const near of pairs.keys()) near.resetAndDestroy()
  }

  await listen()
  return {
    port,
    set,
    count: () => pairs.size,
    async stop() {
      await set({ kind: "refused" })
    },
  }
}

/** Does one thing after the other, none before its time. */
function inOrder() {
  let last: Promise<unknown> = Promise.resolve()
  return (act: () => unknown, time?: Promise<void>) => {
    last = last.then(() => time).then(act)
  }
}

function breakOff(chunk: Buffer, near: Socket): void {
  near.write(chunk.subarray(0, 7), () => near.resetAndDestroy())
}

async function drip(chunk: Buffer, near: Socket): Promise<void> {
  for (let from = 0; from < chunk.length && !near.destroyed; from += drop.bytes) {
    near.write(chunk.subarray(from, from + drop.bytes))
    await sleep(drop.everyMs)
  }
}
