import { drainBackground } from "./background"
import { drainRequestLog } from "./request-log/write"

/** Finishes what responses did not wait for: before a process exits, with our listener and under Next alone. */
export async function drain(): Promise<void> {
  await Promise.all([drainRequestLog(), drainBackground()])
}
