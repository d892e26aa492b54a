import { env } from "@/lib/env"

/**
 * How long the waits of one request for PostgreSQL may take, in milliseconds: all of them together, for a connection, for a
 * statement in PostgreSQL and for its response, and for a connection before the server counts as overloaded.
 */
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
