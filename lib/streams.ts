import { singleton } from "./singleton"

// The streams that this process sends: responses with all rows of a list. Each has a connection to the database of its
// own, and a transaction that lasts as long as its client reads.

/** The streams at a time. Customers and the operator of the service never take each other's places. */
export const maxStreams = { ofOperator: 2, ofCustomers: 3 } as const

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
  readonly isOfCustomer: boolean
  readonly leave: () => void
  /** Called when the process is to exit: ends the stream, and resolves when it is recorded. */
  end?: () => Promise<unknown>
}

/** Why there is no place: the reader has one, all are taken, or the process is about to exit. */
export type NoPlace = "own" | "full" | "exiting"

function state() {
  return singleton("streams", () => ({ places: new Map<string, Place>(), isExiting: false }))
}

export function isExiting(): boolean {
  return state().isExiting
}

/** @param reader the id of a key or of an account, which reads one stream at a time */
export function takePlace(reader: string, isOfCustomer: boolean): Place | NoPlace {
  const { places } = state()
  if (isExiting()) return "exiting"
  if (places.has(reader)) return "own"
  const taken = [...places.values()].filter((place) => place.isOfCustomer === isOfCustomer).length
  if (taken >= maxStreams[isOfCustomer ? "ofCustomers" : "ofOperator"]) return "full"
  const place: Place = {
    isOfCustomer,
    leave: () => {
      if (places.get(reader) === place) places.delete(reader)
    },
  }
  places.set(reader, place)
  return place
}

/** Ends all streams, as incomplete, and starts no more: before the process exits. */
export async function drainStreams(): Promise<void> {
  const current = state()
  current.isExiting = true
  await Promise.all([...current.places.values()].map((place) => place.end?.()))
}
