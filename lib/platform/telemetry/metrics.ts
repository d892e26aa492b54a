import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"

/** The metrics of this process, in its one registry; `/metrics` exposes them. */
export function metrics() {
  const { slug } = product
  return singleton("metrics", () => {
    const registry = new Registry()
    const registers = [registry]
    collectDefaultMetrics({ register: registry })
    /** Reads the pool's connection counts; the pool sets `read` when it is created. */
    const connections = { read: (): Record<string, number> => ({}) }
    new Gauge({
      name: `${slug}_pool_connections`,
      help: "Database connections, and requests that wait for one",
      labelNames: ["state"],
      registers,
      collect() {
        for (const [state, count] of Object.entries(connections.read())) this.set({ state }, count)
      },
    })
    new Gauge({ name: `${slug}_processes`, help: "Processes that serve", registers }).set(1)
    return {
      registry,
      connections,
      requests: new Counter({
        name: `${slug}_http_requests_total`,
        help: "HTTP responses by route, method and status; all pages count as one route, and so do all files",
        labelNames: ["route", "method", "status"],
        registers,
      }),
      duration: new Histogram({
        name: `${slug}_http_request_duration_seconds`,
        help: "Time from a request's headers to its response",
        labelNames: ["route"],
        buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
        registers,
      }),
      degraded: new Counter({
        name: `${slug}_ratelimit_degraded_total`,
        help: "Calls to the shared rate-limit store that failed",
        registers,
      }),
      passwordsWaiting: new Gauge({
        name: `${slug}_passwords_waiting`,
        help: "Passwords that wait to be hashed",
        registers,
      }),
      runs: new Counter({
        name: `${slug}_runs_total`,
        help: "Metered calls by outcome",
        labelNames: ["outcome"],
        registers,
      }),
      credits: new Counter({
        name: `${slug}_credits_total`,
        help: "Credits reserved for and charged to metered calls",
        labelNames: ["kind"],
        registers,
      }),
      unlogged: new Counter({
        name: `${slug}_requests_unlogged_total`,
        help: "Requests with keys that are missing from the request log",
        registers,
      }),
      sweeps: new Counter({
        name: `${slug}_sweeps_total`,
        help: "Rounds of the sweeper's jobs by outcome",
        labelNames: ["job", "outcome"],
        registers,
      }),
      swept: new Counter({
        name: `${slug}_swept_reservations_total`,
        help: "Overdue reservations released by the sweeper",
        registers,
      }),
      unsealed: new Gauge({
        name: `${slug}_audit_unsealed_timestamp_seconds`,
        help: "When the first day of the audit log started that is not sealed; 0 in a process that has not run this job",
        // Other processes, which do not sweep, have 0.
        aggregator: "max",
        registers,
      }),
    }
  })
}
