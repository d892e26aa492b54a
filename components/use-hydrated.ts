import { useSyncExternalStore } from "react"

/** False on the server and where no script runs: what needs a script is then not shown. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    () => () => {},
    () => true,
    () => false,
  )
}
