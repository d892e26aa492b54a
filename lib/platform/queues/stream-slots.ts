import { singleton } from "@/lib/singleton"

// Each stream has its own connection to the database, and a transaction that lasts as long as its client reads.

/** No kind takes slots of another. */
export const maxStreams = {
  operator: { total: 3, account: 2 },
  customer: { total: 3, account: 1 },
  export: { total: 2, account: 1 },
} as const

export type StreamKind = keyof typeof maxStreams

/** `id`: of a key or of an account, which reads one stream at a time. */
export type StreamReader = { id: string; account: string; kind: StreamKind }

export const retrySeconds = 10

/** Longer than an account waits before it tries again. */
const keptMs = 1.5 * retrySeconds * 1_000

export type Chunks = {
  /** The last chunk is returned once nothing more is read. */
  next: () => Promise<{ chunk: Uint8Array; rows: number; isLast: boolean }>
  abort: () => void
  /** The last line of an incomplete stream; without one, its connection is reset. */
  failure?: (code: string, message: string) => string
}

export type StreamSlot = {
  readonly reader: StreamReader
  readonly leave: () => void
  end?: () => Promise<unknown>
}

export type NoSlot = "own" | "full" | "exiting"

/** `until` is on the clock of `performance.now`. */
type Waiting = Pick<StreamReader, "account" | "kind"> & { until: number }

function state() {
  return singleton("streams", () => ({
    slots: new Map<string, StreamSlot>(),
    waiting: [] as Waiting[],
    isExiting: false,
  }))
}

export function isExiting(): boolean {
  return state().isExiting
}

/** An account that got no slot is first when one is free, so a reader of one stream after the other waits, too. */
export function takeSlot(reader: StreamReader): StreamSlot | NoSlot {
  const { id, account, kind } = reader
  const { slots } = state()
  if (isExiting()) return "exiting"
  const taken = [...slots.values()].filter((slot) => slot.reader.kind === kind)
  const own = taken.filter((slot) => slot.reader.account === account).length
  if (slots.has(id) || own >= maxStreams[kind].account) return "own"
  const order = waitingFor(kind)
  const waiting = order.find((other) => other.account === account)
  const before = waiting ? order.indexOf(waiting) : order.length
  if (taken.length + before >= maxStreams[kind].total) {
    const until = performance.now() + keptMs
    if (waiting) waiting.until = until
    else state().waiting.push({ account, kind, until })
    return "full"
  }
  state().waiting = state().waiting.filter((other) => other !== waiting)
  const slot: StreamSlot = {
    reader,
    leave: () => {
      if (slots.get(id) === slot) slots.delete(id)
    },
  }
  slots.set(id, slot)
  return slot
}

function waitingFor(kind: StreamKind): Waiting[] {
  const current = state()
  current.waiting = current.waiting.filter(({ until }) => until >= performance.now())
  return current.waiting.filter((waiting) => waiting.kind === kind)
}

export async function drainStreams(): Promise<void> {
  const current = state()
  current.isExiting = true
  await Promise.all([...current.slots.values()].map((slot) => slot.end?.()))
}
