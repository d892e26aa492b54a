import { singleton } from "./singleton"

// The streams that this process sends: responses with all rows of a list. Each has a connection to the database of its
// own, and a transaction that lasts as long as its client reads.

/** The number of streams at a time. */
export const maxStreams = 2

/** The place of a stream, taken before it reads and left when it has ended. */
export type Place = {
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
export function takePlace(reader: string): Place | NoPlace {
  const { places } = state()
  if (isExiting()) return "exiting"
  if (places.has(reader)) return "own"
  if (places.size >= maxStreams) return "full"
  const place: Place = {
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
