import { freePort } from "@/scripts/postgres"

// Measures a server's memory and event loop delay from inside its process.

/** The script that runs in the server. `/collected` collects garbage first, so that only live memory counts. */
const probe = (port: number) => `
  import { createServer } from "node:http"
  import { monitorEventLoopDelay } from "node:perf_hooks"
  import { setFlagsFromString } from "node:v8"
  import { runInNewContext } from "node:vm"
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc")
  const delay = monitorEventLoopDelay()
  delay.enable()
  const listener = createServer(({ url }, response) => {
    if (url === "/collected") collect()
    const { rss, heapUsed, external } = process.memoryUsage()
    const delays = [50, 99, 100].map((percent) => delay.percentile(percent) / 1e6)
    response.end(JSON.stringify({ rss, heap: heapUsed + external, delays }))
  })
  listener.listen(${port}, "127.0.0.1").unref()`

/** Bytes of the process and of the JavaScript heap, and the event loop delay in ms at p50, p99 and maximum. */
type Measurement = { rss: number; heap: number; delays: number[] }

type Sample = { minutes: number; mb: number }

export type MemoryReport = {
  /** The process's memory, sampled each second. */
  rss: Sample[]
  /** The JavaScript heap after garbage collection, sampled at each call of `collect`. */
  heap: Sample[]
  delays: number[]
}

/** @returns `nodeOptions` for the start of the server, and functions that sample its memory */
export async function prepareMemory() {
  const port = await freePort()
  const since = Date.now()
  const report: MemoryReport = { rss: [], heap: [], delays: [] }
  let timer: NodeJS.Timeout | undefined

  async function sample(path: "" | "collected"): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`)
    const measured: Measurement = await response.json()
    const minutes = (Date.now() - since) / 60_000
    if (path === "collected") report.heap.push({ minutes, mb: measured.heap / 2 ** 20 })
    else report.rss.push({ minutes, mb: measured.rss / 2 ** 20 })
    report.delays = measured.delays
  }

  return {
    nodeOptions: `--import data:text/javascript,${encodeURIComponent(probe(port))}`,
    watch() {
      timer = setInterval(() => sample("").catch(() => {}), 1_000)
    },
    collect: () => sample("collected"),
    async stop(): Promise<MemoryReport> {
      clearInterval(timer)
      await sample("collected")
      return report
    },
  }
}

/** Growth in MB per minute: the least-squares slope over the second half of the samples. */
export function slopeOf(samples: readonly Sample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const [x, y] = [mean(half.map(({ minutes }) => minutes)), mean(half.map(({ mb }) => mb))]
  const above = half.reduce((sum, { minutes, mb }) => sum + (minutes - x) * (mb - y), 0)
  const below = half.reduce((sum, { minutes }) => sum + (minutes - x) ** 2, 0)
  return above / below
}

/**
 * Growth of live memory in MB per minute, from the lowest sample of the first half to the lowest of the second.
 * Requests in progress raise single samples; a leak raises the lowest.
 */
export function growthOf(samples: readonly Sample[]): number {
  const middle = Math.floor(samples.length / 2)
  const [first, second] = [samples.slice(0, middle), samples.slice(middle)]
  const [from, to] = [first, second].map((half) => half.reduce((least, one) => (one.mb < least.mb ? one : least)))
  return from && to ? (to.mb - from.mb) / (to.minutes - from.minutes) : 0
}
