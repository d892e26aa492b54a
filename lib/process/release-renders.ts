import { singleton } from "@/lib/singleton"

/**
 * React ends each render by aborting with an Error. Its unread stack retains the Immediate that created it and, through
 * neighboring Immediates, earlier renders. On a busy server every page would retain all pages before it. Reading the
 * stack turns it into text, which retains nothing.
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
