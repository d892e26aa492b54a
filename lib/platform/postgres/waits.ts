import { env } from "@/lib/env"

/**
 * In milliseconds. `overload`: the wait for a connection after which the server counts as overloaded. `standby`: the wait
 * for a standby after which it counts as silent, so that the primary still responds in time.
 */
export function waits() {
  const request = env().DATABASE_WAIT_MS
  return {
    request,
    connection: request - 400,
    statement: request + 100,
    response: request + 400,
    overload: request - 1_400,
    standby: request / 5,
  }
}
