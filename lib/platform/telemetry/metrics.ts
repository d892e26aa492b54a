import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"

export function metrics() {
  return singleton("metrics", () => {
    const registry = new Registry()
    collectDefaultMetrics({ register: registry })
    const named = (name: string, help: string) => ({ name: `${product.slug}_${name}`, help, registers: [registry] })
    const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ ...named(name, help), labelNames })
    const connections = { read: (): Record<string, number> => ({}) }
    new Gauge({
      ...named("pool_connections", "Database connections, and requests that wait for one"),
      labelNames: ["state"],
      collect() {
        for (const [state, count] of Object.entries(connections.read())) this.set({ state }, count)
      },
    })
    const standbyAges = { read: (): Record<string, number> => ({}) }
    new Gauge({
      ...named("standby_age_seconds", "Seconds since the standby had everything that the primary had committed"),
      labelNames: ["standby"],
      aggregator: "max",
      collect() {
        for (const [standby, age] of Object.entries(standbyAges.read())) this.set({ standby }, age)
      },
    })
    new Gauge(named("processes", "Processes that serve")).set(1)
    // Other processes, which do not sweep, have 0.
    const swept = (name: string, help: string) => new Gauge({ ...named(name, help), aggregator: "max" as const })
    const paymentCalls = counter("payment_provider_calls_total", "Calls to the payment provider by outcome", [
      "outcome",
    ])
    // Prometheus sees no increase in a series that starts at 1.
    for (const outcome of ["done", "refused", "unavailable"]) paymentCalls.inc({ outcome }, 0)
    return {
      registry,
      connections,
      standbyAges,
      reads: counter("reads_total", "Reads that standbys can serve, by the database that did", ["source"]),
      requests: counter(
        "http_requests_total",
        "HTTP responses by route, method and status; all pages count as one route, and so do all files",
        ["route", "method", "status"],
      ),
      duration: new Histogram({
        ...named("http_request_duration_seconds", "Time from a request's headers to its response"),
        labelNames: ["route"],
        buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      }),
      degraded: counter("ratelimit_degraded_total", "Calls to the shared rate-limit store that failed"),
      passwordsWaiting: new Gauge(named("passwords_waiting", "Passwords that wait to be hashed")),
      runs: counter("runs_total", "Metered calls by outcome", ["outcome"]),
      credits: counter("credits_total", "Credits reserved for and charged to metered calls", ["kind"]),
      unlogged: counter("requests_unlogged_total", "Requests with keys that are missing from the request log"),
      sweeps: counter("sweeps_total", "Rounds of the sweeper's jobs by outcome", ["job", "outcome"]),
      swept: counter("swept_reservations_total", "Overdue reservations released by the sweeper"),
      unsealed: swept(
        "audit_unsealed_timestamp_seconds",
        "Start of the first unsealed day of the audit log; 0 in a process that has not run this job",
      ),
      paymentCalls,
      paymentRequestsWaiting: swept(
        "payment_requests_waiting_seconds",
        "Age of the oldest request that the payment provider has not done",
      ),
      paymentEventsWaiting: swept(
        "payment_events_waiting_seconds",
        "Age of the oldest event of the payment provider that is not booked",
      ),
      paymentDifferences: swept(
        "payment_differences",
        "Differences of the last comparison with the payment provider that are not booked",
      ),
      erasuresWaiting: swept("erasures_waiting", "Accounts whose erasure has waited a day for the payment provider"),
    }
  })
}
