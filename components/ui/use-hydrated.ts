import { useSyncExternalStore } from "react"

/** False on the server and until hydration, to hide elements that need JavaScript. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    () => () => {},
    () => true,
    () => false,
  )
}
