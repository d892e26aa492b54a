import { singleton } from "@/lib/singleton"

// The streams that this process sends: responses with all rows of a list. Each has a connection to the database of its
// own, and a transaction that lasts as long as its client reads.

/** The streams at a time, and those of one account. None of these kinds takes the place of another. */
export const maxStreams = {
  operator: { total: 3, account: 2 },
  customer: { total: 3, account: 1 },
  export: { total: 2, account: 1 },
} as const

export type StreamKind = keyof typeof maxStreams

/** Whose stream it is. `id` is that of a key or of an account, which reads one stream at a time. */
export type StreamReader = { id: string; account: string; kind: StreamKind }

/** After how many seconds a reader who got no place should try again. */
export const retrySeconds = 10

/** How long the next place is kept for an account that got none: for longer than until it tries again. */
const keptMs = 1.5 * retrySeconds * 1_000

/** What a stream sends, chunk by chunk. */
export type Chunks = {
  /** The next chunk and the number of rows in it. The last one is returned once nothing more is read. */
  next: () => Promise<{ chunk: Uint8Array; rows: number; isLast: boolean }>
  /** Closes what is read. Does nothing after that. */
  abort: () => void
  /** The last line of a stream that is incomplete; without one, its connection is reset. */
  failure?: (code: string, message: string) => string
}

/** The place of a stream, taken before it reads and left when it has ended. */
export type Place = {
  readonly reader: StreamReader
  readonly leave: () => void
  /** Called when the process is to exit: ends the stream, and resolves when it is recorded. */
  end?: () => Promise<unknown>
}

/** Why there is no place: the reader has one, all are taken or kept for others, or the process is about to exit. */
export type NoPlace = "own" | "full" | "exiting"

/** An account that got no place, and until when one is kept for it. */
type Waiting = Pick<StreamReader, "account" | "kind"> & { until: number }

function state() {
  return singleton("streams", () => ({ places: new Map<string, Place>(), waiting: [] as Waiting[], isExiting: false }))
}

export function isExiting(): boolean {
  return state().isExiting
}

/** An account that got no place is first when one is free: readers who start one stream after the other wait, too. */
export function takePlace(reader: StreamReader): Place | NoPlace {
  const { id, account, kind } = reader
  const { places } = state()
  if (isExiting()) return "exiting"
  const taken = [...places.values()].filter((place) => place.reader.kind === kind)
  const own = taken.filter((place) => place.reader.account === account).length
  if (places.has(id) || own >= maxStreams[kind].account) return "own"
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
  const place: Place = {
    reader,
    leave: () => {
      if (places.get(id) === place) places.delete(id)
    },
  }
  places.set(id, place)
  return place
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
  await Promise.all([...current.places.values()].map((place) => place.end?.()))
}
