import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, test, vi } from "vitest"
import { jobs } from "@/lib/process/sweeper"
import { product } from "@/lib/product"
import type { Given } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { startRedis } from "@/tests/support/redis"
import { sampled } from "@/tests/support/sample"
import { startTestServer } from "@/tests/support/server"
import {
  type Alert,
  type Dashboard,
  queriesOf,
  readAlerts,
  readDashboard,
  selectorsIn,
  storedFrom,
  unknownIn,
} from "@/tests/support/watching"
import { work } from "@/tests/support/work"

// Compares the alerts and the dashboard in ops with the metrics of real servers. tests/alerts makes each alert fire.

const { slug } = product
const METRICS_TOKEN = "a-token-of-the-test"

/** A standby that is away has metrics, too. */
const DATABASE_REPLICA_URLS = "postgresql://127.0.0.1:1/absent"

/** Metrics without a graph, with the reason. */
const notShown: Record<string, string> = {
  process_cpu_seconds_total: "the sum of user and system, which are shown",
  process_start_time_seconds: "only of a single process; `up` and the number of processes show restarts",
  process_virtual_memory_bytes: "Node reserves much more than it uses",
  process_heap_bytes: "the resident memory contains it",
  process_max_fds: "constant",
  nodejs_eventloop_lag_seconds: "one measurement at the scrape; the percentiles are of all since the last one",
  nodejs_eventloop_lag_min_seconds: "p50, p99 and max are shown",
  nodejs_eventloop_lag_mean_seconds: "p50, p99 and max are shown",
  nodejs_eventloop_lag_stddev_seconds: "p50, p99 and max are shown",
  nodejs_eventloop_lag_p90_seconds: "p50, p99 and max are shown",
  nodejs_active_resources_total: "the sum of nodejs_active_resources, which is shown",
  nodejs_active_handles: "nodejs_active_resources contains them",
  nodejs_active_handles_total: "nodejs_active_resources contains them",
  nodejs_active_requests: "nodejs_active_resources contains them",
  nodejs_active_requests_total: "nodejs_active_resources contains them",
  nodejs_heap_space_size_total_bytes: "the parts of the heap, which is shown",
  nodejs_heap_space_size_used_bytes: "the parts of the heap, which is shown",
  nodejs_heap_space_size_available_bytes: "the parts of the heap, which is shown",
}

let alerts: Alert[]
let dashboard: Dashboard
let operation: string

beforeAll(async () => {
  ;[alerts, dashboard] = await Promise.all([readAlerts(root), readDashboard(root)])
  operation = await readFile(join(root, "docs/operation.md"), "utf8")
})

/** The metrics of a server after a request of each kind that has metrics of its own. */
async function metricsText(given: Given): Promise<string> {
  const user = await createUser()
  await grantCredits(user.id, 100)
  const { secret } = await createKey({ user, surface: "user" })
  const server = await startTestServer("lean", { METRICS_TOKEN, DATABASE_REPLICA_URLS, ...given })
  const headers = { "x-api-key": secret, "content-type": "application/json" }
  expect((await fetch(server.address + work.path, { method: "POST", headers, body: work.body })).status).toBe(200)
  expect((await fetch(`${server.address}/sign-in`)).status).toBe(200)
  const authorization = `Bearer ${METRICS_TOKEN}`
  const text = async () => (await fetch(`${server.address}/metrics`, { headers: { authorization } })).text()
  const found = await vi.waitFor(async () => {
    const found = await text()
    expect(found).toContain(`${slug}_processes ${given.WEB_CONCURRENCY}\n`)
    // Node reports garbage collection once there was one.
    expect(found).toContain("nodejs_gc_duration_seconds_sum")
    return found
  }, 30_000)
  await server.stop()
  return found
}

describe.each(sampled(["1", "2"]))("with %s processes", (processes) => {
  let text: string

  beforeAll(async () => {
    const redis = await startRedis()
    text = await metricsText({ WEB_CONCURRENCY: processes, REDIS_URL: redis.url })
    await redis.stop()
  })

  test("every metric and label in the alerts and in the dashboard is served", () => {
    const stored = storedFrom(text)
    expect(
      unknownIn(
        alerts.map(({ expr }) => expr),
        stored,
      ),
    ).toEqual([])
    expect(unknownIn(queriesOf(dashboard), stored)).toEqual([])
  })

  test("every served metric is in the dashboard, or has a reason to be left out", () => {
    const served = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name)
    const shown = queriesOf(dashboard).flatMap(selectorsIn)
    const isShown = (name: string) =>
      shown.some(({ metric }) => metric.replace(/_(bucket|sum|count)$/, "") === name || metric === name)
    expect(served.filter((name) => !isShown(name) && !notShown[name])).toEqual([])
    expect(Object.keys(notShown).filter(isShown)).toEqual([])
    if (processes === "1") expect(Object.keys(notShown).filter((name) => !served.includes(name))).toEqual([])
  })

  test("docs/operation.md lists every metric of the product, with its labels", () => {
    const documented = [...operation.matchAll(/^\| `<slug>(_\w+)` +\| (.*?) +\|/gm)].map(([, name, labels = ""]) => [
      slug + name,
      [...labels.matchAll(/\w+/g)].map(([label]) => label).sort(),
    ])
    const served = [...text.matchAll(new RegExp(`^# TYPE (${slug}_\\w+) `, "gm"))].map(([, name = ""]) => {
      const series = text.matchAll(new RegExp(`^${name}(?:_count)?(?:{(.*)})? `, "gm"))
      const labels = [...series].flatMap(([, labels = ""]) =>
        [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label),
      )
      return [name, [...new Set(labels)].sort()]
    })
    expect(Object.fromEntries(served)).toEqual(Object.fromEntries(documented))
  })

  test("each job of the sweeper has a series from the start, whose failure increases it", () => {
    for (const job of Object.keys(jobs)) {
      expect(text).toContain(`${slug}_sweeps_total{job="${job}",outcome="failed"}`)
    }
  })
})

test("each alert has a severity, a description, and a link to its runbook in docs/operation.md", async () => {
  // tests/ha makes the others fire.
  const all = [...alerts, ...(await readAlerts(root, "ops/ha/alerts.yaml"))]
  const anchors = [...operation.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading))
  expect(alerts.length).toBeGreaterThan(10)
  for (const { alert, labels, annotations } of all) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning)$/)])
    expect([alert, annotations.summary]).toEqual([alert, expect.stringMatching(/\w/)])
    expect(annotations.runbook).toBe(`docs/operation.md#alert-${alert.toLowerCase()}`)
    expect(anchors).toContain(annotations.runbook.split("#")[1])
  }
  const described = anchors.filter((anchor) => anchor.startsWith("alert-"))
  expect(described.sort()).toEqual(all.map(({ alert }) => `alert-${alert.toLowerCase()}`).sort())
})

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(" ", "-")
}

test("the alert about jobs that are not done covers every job of the sweeper", () => {
  const { expr = "" } = alerts.find(({ alert }) => alert === "SweeperStopped") ?? {}
  const covered = [...expr.matchAll(/exported_job=~"([^"]*)"/g)].flatMap(([, names = ""]) => names.split("|"))
  // Also jobs of a module that is removed.
  expect(covered).toEqual(expect.arrayContaining(Object.keys(jobs)))
})

test("the dashboard has the rows that docs/operation.md names, a data source to choose, and panels that do not overlap", () => {
  const { panels, schemaVersion, templating, title, uid } = dashboard
  expect([title, uid]).toEqual([slug, slug])
  expect(schemaVersion).toBeGreaterThanOrEqual(39)
  expect(templating.list.map(({ name }) => name)).toEqual(["datasource", "job"])
  const rows = panels.filter(({ type }) => type === "row").map(({ title }) => title)
  expect(operation.replaceAll("\n", " ")).toContain(rows.join(", ").toLowerCase())
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24)
    return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`)
  })
  expect(new Set(cells).size).toBe(cells.length)
  const graphs = panels.filter(({ type }) => type !== "row")
  for (const { datasource, targets = [] } of graphs) {
    const sources = [datasource, ...targets.map((target) => target.datasource)]
    for (const source of sources) expect(source?.uid).toBe(`\${datasource}`)
    expect(targets.length).toBeGreaterThan(0)
  }
})

test("a metric or label that does not exist is detected", () => {
  const stored = storedFrom('a_total{job="x",route="y"} 1\nb 2\n')
  const exprs = ['sum by (exported_job, status) (rate(a_total{route=~"x.*", kind="z"}[5m])) / b > 1e9', "absent(c)"]
  expect(unknownIn(exprs, stored)).toEqual(["a_total{kind}", "a_total{status}", "b{exported_job}", "b{status}", "c"])
})
