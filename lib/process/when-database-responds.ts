import { tell } from "@/lib/platform/telemetry/printed"

const retryAfterMs = 1_000

/** Runs a check of the database. While the database is unavailable, the process serves, and the check is retried. */
export async function whenDatabaseResponds(check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch {
    setTimeout(whenDatabaseResponds, retryAfterMs, check).unref()
  }
}

/** Ends a process that must not use its database. */
export function refuseToStart(why: string): never {
  tell("stderr", `The server cannot start: ${why}`)
  process.exit(1)
}
