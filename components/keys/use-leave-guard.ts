import { type RefObject, useEffect, useRef } from "react"

const question = "The key is shown only once. Leave without it?"

/**
 * Asks before whatever would take the shown key away: closing and reloading, Back, and links outside `container`.
 * @param onLeave drops the key; called when the viewer leaves without having saved it
 * @returns ends the guard, for when the key is saved
 */
export function useLeaveGuard(container: RefObject<HTMLElement | null>, onLeave: () => void): () => void {
  const leave = useRef(onLeave)
  leave.current = onLeave
  const end = useRef(() => {})

  useEffect(() => {
    const here = location.href
    const shown = { ...history.state, keyShown: true }
    // Back then leads to this same page first, where the question can be asked.
    if (!history.state?.keyShown) history.pushState(shown, "", here)

    const listeners = new AbortController()
    const { signal } = listeners

    window.addEventListener("beforeunload", (event) => event.preventDefault(), { signal })
    // The browser may keep a page that was left, as it was.
    window.addEventListener("pagehide", () => leave.current(), { signal })
    window.addEventListener(
      "popstate",
      (event) => {
        event.stopImmediatePropagation()
        if (!confirm(question)) return history.pushState(shown, "", here)
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
        if (confirm(question)) return listeners.abort()
        event.preventDefault()
        event.stopImmediatePropagation()
      },
      { signal, capture: true },
    )

    end.current = () => {
      if (signal.aborted) return
      listeners.abort()
      if (history.state?.keyShown) goBackUnnoticed()
    }
    return () => listeners.abort()
  }, [container])

  return () => end.current()
}

/** Takes the extra history entry away again. It is the same page: nothing has to be drawn anew. */
function goBackUnnoticed(): void {
  window.addEventListener("popstate", (event) => event.stopImmediatePropagation(), { capture: true, once: true })
  history.back()
}
