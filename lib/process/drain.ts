import { drainBackground } from "@/lib/platform/queues/background"
import { drainStreams } from "@/lib/platform/queues/stream-slots"
import { drainRequestLog } from "@/lib/request-log/write"

/**
 * Ends the streams and finishes what responses did not wait for: before a process exits, with our listener and under Next
 * alone.
 */
export async function drain(): Promise<void> {
  await drainStreams()
  await Promise.all([drainRequestLog(), drainBackground()])
}
