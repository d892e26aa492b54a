import { singleton } from "@/lib/singleton"

/**
 * Releases a page's memory after its render. React ends each render by aborting with an Error whose unread stack
 * retains the Immediate that created it and, through neighboring Immediates, earlier renders: on a busy server every
 * page would retain all pages before it. Reading the stack turns it into text, which retains nothing.
 */
export function releaseFinishedRenders(): void {
  singleton("ended-renders", () => {
    const { abort } = AbortController.prototype
    AbortController.prototype.abort = function (reason) {
      if (reason instanceof Error) String(reason.stack)
      abort.call(this, reason)
    }
    return true
  })
}
