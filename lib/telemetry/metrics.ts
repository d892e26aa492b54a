import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import { singleton } from "@/lib/singleton"

/** What the process counts, in the one registry it has: what `/metrics` shows. */
export function metrics() {
  return singleton("metrics", () => {
    const registry = new Registry()
    const registers = [registry]
    collectDefaultMetrics({ register: registry })
    /** What the pool says of its connections, once there is one. */
    const connections = { read: (): Record<string, number> => ({}) }
    new Gauge({
      name: "tsk_pool_connections",
      help: "Connections to the database, and requests that wait for one",
      labelNames: ["state"],
      registers,
      collect() {
        for (const [state, count] of Object.entries(connections.read())) this.set({ state }, count)
      },
    })
    return {
      registry,
      connections,
      requests: new Counter({
        name: "tsk_http_requests_total",
        help: "Answers by route, method and status; of pages all together, and of files",
        labelNames: ["route", "method", "status"],
        registers,
      }),
      duration: new Histogram({
        name: "tsk_http_request_duration_seconds",
        help: "Time from a request's headers to its answer",
        labelNames: ["route"],
        buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
        registers,
      }),
      degraded: new Counter({
        name: "tsk_ratelimit_degraded_total",
        help: "Requests that were counted in the process because the shared store of the limits failed",
        registers,
      }),
      runs: new Counter({
        name: "tsk_runs_total",
        help: "Metered calls by how they ended",
        labelNames: ["outcome"],
        registers,
      }),
      credits: new Counter({
        name: "tsk_credits_total",
        help: "Credits that metered calls reserved, and that they were charged in the end",
        labelNames: ["kind"],
        registers,
      }),
      sweeps: new Counter({
        name: "tsk_sweeps_total",
        help: "Rounds of the sweeper by how they ended",
        labelNames: ["outcome"],
        registers,
      }),
      swept: new Counter({
        name: "tsk_swept_reservations_total",
        help: "Overdue reservations that the sweeper released",
        registers,
      }),
    }
  })
}
