import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { pool } from "@/lib/platform/postgres/pool"
import { logUnbooked, receive } from "./booking"
import { ProviderUnavailable } from "./errors"
import type { Concern, PaymentProvider } from "./provider"

/** In one round, so that it does not use up the reads that the provider allows. */
const batch = 100

type Waiting = Concern & { eventId: string }

/**
 * Tries events about unknown objects again: after one minute, two, four and so on, at most a day. Any number of processes may
 * do so at once. Deletes events after 90 days.
 * @returns the number of events that are booked
 */
export async function retryEvents(provider: PaymentProvider): Promise<number> {
  const { rows } = await pool().query<Waiting>(
    `UPDATE provider_events e SET attempts = least(e.attempts + 1, 1000),
       try_at = now() + least(interval '2 minutes' * 2 ^ least(e.attempts, 20), interval '1 day')
     FROM (
       SELECT provider, id, kind, object_id FROM provider_events
       WHERE provider = $1 AND booked_at IS NULL AND try_at <= now() ORDER BY try_at LIMIT ${batch} FOR UPDATE SKIP LOCKED) due
     WHERE (e.provider, e.id, e.kind, e.object_id) = (due.provider, due.id, due.kind, due.object_id)
     RETURNING e.id AS "eventId", e.kind, e.object_id AS id`,
    [provider.name],
  )
  let booked = 0
  for (const { eventId, kind, id } of rows) {
    try {
      if (await receive(provider, { eventId, concerns: [{ kind, id }] })) booked++
    } catch (error) {
      if (error instanceof ProviderUnavailable || isDatabaseUnavailable(error)) throw error
      logUnbooked(id, error)
    }
  }
  await pool().query("DELETE FROM provider_events WHERE received_at < now() - interval '90 days'")
  return booked
}
