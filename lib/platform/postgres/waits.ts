import { env } from "@/lib/env"

/** In milliseconds. `overload`: the wait for a connection after which the server counts as overloaded. */
export function waits() {
  const request = env().DATABASE_WAIT_MS
  return {
    request,
    connection: request - 400,
    statement: request + 100,
    response: request + 400,
    overload: request - 1_400,
  }
}
