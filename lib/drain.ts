import { drainBackground } from "./background"
import { drainRequestLog } from "./request-log/write"
import { drainStreams } from "./streams"

/**
 * Ends the streams and finishes what responses did not wait for: before a process exits, with our listener and under Next
 * alone.
 */
export async function drain(): Promise<void> {
  await drainStreams()
  await Promise.all([drainRequestLog(), drainBackground()])
}
