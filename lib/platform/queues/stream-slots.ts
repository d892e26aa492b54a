import { singleton } from "@/lib/singleton"

// The streams that this process sends: responses with all rows of a list. Each has a connection to the database of its
// own, and a transaction that lasts as long as its client reads.

/** The streams at a time, and those of one account. No kind takes slots of another. */
export const maxStreams = {
  operator: { total: 3, account: 2 },
  customer: { total: 3, account: 1 },
  export: { total: 2, account: 1 },
} as const

export type StreamKind = keyof typeof maxStreams

/** Whose stream it is. `id` is that of a key or of an account, which reads one stream at a time. */
export type StreamReader = { id: string; account: string; kind: StreamKind }

/** After how many seconds a reader who got no slot should try again. */
export const retrySeconds = 10

/** How long the next slot is kept for an account that got none: for longer than until it tries again. */
const keptMs = 1.5 * retrySeconds * 1_000

export type Chunks = {
  /** The next chunk and the number of rows in it. The last one is returned once nothing more is read. */
  next: () => Promise<{ chunk: Uint8Array; rows: number; isLast: boolean }>
  /** Closes what is read. Does nothing after that. */
  abort: () => void
  /** The last line of a stream that is incomplete; without one, its connection is reset. */
  failure?: (code: string, message: string) => string
}

/** The slot of a stream, taken before it reads and left when it has ended. */
export type StreamSlot = {
  readonly reader: StreamReader
  readonly leave: () => void
  /** Called when the process is to exit: ends the stream, and resolves when it is recorded. */
  end?: () => Promise<unknown>
}

/** Why there is no slot: the reader has one, all are taken or kept for others, or the process is about to exit. */
export type NoSlot = "own" | "full" | "exiting"

/** An account that got no slot, and until when one is kept for it. */
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

/** An account that got no slot is first when one is free: readers who start one stream after the other wait, too. */
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

/** The accounts that wait, in their order. One that did not try again no longer does. */
function waitingFor(kind: StreamKind): Waiting[] {
  const current = state()
  current.waiting = current.waiting.filter(({ until }) => until >= performance.now())
  return current.waiting.filter((waiting) => waiting.kind === kind)
}

/** Ends all streams, as incomplete, and starts no more: before the process exits. */
export async function drainStreams(): Promise<void> {
  const current = state()
  current.isExiting = true
  await Promise.all([...current.slots.values()].map((slot) => slot.end?.()))
}
