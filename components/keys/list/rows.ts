import type { ListedKey } from "@/lib/keys/data"

/**
 * The keys of a list as its rows. A key that was replaced is part of its successor's row as long as it works and the
 * successor is not revoked. `ended` are the keys that the list hides at first.
 */
export function rowsOf(keys: readonly ListedKey[]): { rows: ListedKey[]; ended: ListedKey[] } {
  const successors = keys.filter(({ state }) => state !== "revoked")
  const inSuccessorsRow = new Set(successors.map(({ predecessor }) => predecessor?.id))
  const all = keys.filter(({ id }) => !inSuccessorsRow.has(id))
  return { rows: all.filter((key) => !hasEnded(key)), ended: all.filter(hasEnded) }
}

/** Expired keys stay visible, unless another key has replaced them. */
function hasEnded({ state, isReplaced }: ListedKey): boolean {
  return state === "revoked" || (state === "expired" && isReplaced)
}
