import { pool } from "@/lib/platform/postgres/pool"
import { metrics } from "@/lib/platform/telemetry/metrics"

type Waiting = { requests: number; events: number; differences: number }

/** Sets the metrics of the work that waits for the provider. */
export async function watchPayments(): Promise<string> {
  const { rows } = await pool().query<Waiting>(`
    SELECT extract(epoch FROM coalesce(now() - (SELECT min(created_at) FROM provider_requests WHERE done_at IS NULL), '0'))::float8 AS requests,
      extract(epoch FROM coalesce(now() - (SELECT min(received_at) FROM provider_events WHERE booked_at IS NULL), '0'))::float8 AS events,
      coalesce((SELECT sum(reported) FROM provider_reconciliations), 0)::int AS differences`)
  const { requests, events, differences } = rows[0] ?? { requests: 0, events: 0, differences: 0 }
  const { paymentRequestsWaiting, paymentEventsWaiting, paymentDifferences } = metrics()
  paymentRequestsWaiting.set(requests)
  paymentEventsWaiting.set(events)
  paymentDifferences.set(differences)
  return `payments: the oldest request waits for ${Math.round(requests)} s, the oldest event for ${Math.round(events)} s`
}
