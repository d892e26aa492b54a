import { type RefObject, useEffect, useRef } from "react"

/**
 * Asks before the shown key is lost: on close, reload, Back and links outside `container`.
 * @param onLeave drops the key
 * @returns removes the guard; call it once the key is saved
 */
export function useLeaveGuard(
  container: RefObject<HTMLElement | null>,
  onLeave: () => void,
  what = "The key is",
): () => void {
  const warning = `${what} shown only once. Leave without saving?`
  const leave = useRef(onLeave)
  leave.current = onLeave
  const end = useRef(() => {})

  useEffect(() => {
    const here = location.href
    const shown = { ...history.state, keyShown: true }
    // The extra entry makes Back stay on this page, where the confirmation can be shown.
    if (!history.state?.keyShown) history.pushState(shown, "", here)

    const listeners = new AbortController()
    const { signal } = listeners

    window.addEventListener("beforeunload", (event) => event.preventDefault(), { signal })
    // The back/forward cache may keep the page with the key.
    window.addEventListener("pagehide", () => leave.current(), { signal })
    window.addEventListener(
      "popstate",
      (event) => {
        event.stopImmediatePropagation()
        if (!confirm(warning)) return history.pushState(shown, "", here)
        listeners.abort()
        leave.current()
        if (location.href === here) history.back()
        else location.reload()
      },
      { signal, capture: true },
    )
    document.addEventListener(
      "click",
      (event) => {
        const target = event.target instanceof Element ? event.target : null
        if (!target?.closest("a[href]") || container.current?.contains(target)) return
        if (confirm(warning)) return listeners.abort()
        event.preventDefault()
        event.stopImmediatePropagation()
      },
      { signal, capture: true },
    )

    end.current = () => {
      if (signal.aborted) return
      listeners.abort()
      if (history.state?.keyShown) removeHistoryEntry()
    }
    return () => listeners.abort()
  }, [container, warning])

  return () => end.current()
}

/** Does not notify the router, because the page stays the same. */
function removeHistoryEntry(): void {
  window.addEventListener("popstate", (event) => event.stopImmediatePropagation(), { capture: true, once: true })
  history.back()
}
