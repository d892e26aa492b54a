import { singleton } from "@/lib/singleton"

/**
 * Lets go of a page's memory once it is rendered. React ends each render by an abort with an error; until somebody reads
 * its stack, that holds the Immediate in which the error was made, which holds its neighbours, and they the renders that
 * they belong to: of a server that is never idle, each page would hold all pages before it. A stack that was read is text.
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
