import { freePort } from "@/scripts/postgres"

// What a server knows best of itself: the memory that it holds, and how late its event loop was.

/** Runs in the server. To be asked for `/collected` takes all garbage away first, which is what a leak survives. */
const tells = (port: number) => `
  import { createServer } from "node:http"
  import { monitorEventLoopDelay } from "node:perf_hooks"
  import { setFlagsFromString } from "node:v8"
  import { runInNewContext } from "node:vm"
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc")
  const delay = monitorEventLoopDelay()
  delay.enable()
  const listener = createServer(({ url }, answer) => {
    if (url === "/collected") collect()
    const { rss, heapUsed, external } = process.memoryUsage()
    const delays = [50, 99, 100].map((part) => delay.percentile(part) / 1e6)
    answer.end(JSON.stringify({ rss, held: heapUsed + external, delays }))
  })
  listener.listen(${port}, "127.0.0.1").unref()`

/** Bytes of the process and of what JavaScript holds, and milliseconds of lateness at p50, p99 and at most. */
type Told = { rss: number; held: number; delays: number[] }

type Sample = { minutes: number; mb: number }

export type MemoryReport = {
  /** Of the process, each second. */
  rss: Sample[]
  /** Of what JavaScript holds once all garbage is gone, each time that `collect` was called. */
  held: Sample[]
  delays: number[]
}

/** @returns `nodeOptions`, with which the server has to be started, and what watches it from then on */
export async function prepareMemory() {
  const port = await freePort()
  const since = Date.now()
  const report: MemoryReport = { rss: [], held: [], delays: [] }
  let timer: NodeJS.Timeout | undefined

  async function sample(path: "" | "collected"): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`)
    const told: Told = await response.json()
    const minutes = (Date.now() - since) / 60_000
    if (path === "collected") report.held.push({ minutes, mb: told.held / 2 ** 20 })
    else report.rss.push({ minutes, mb: told.rss / 2 ** 20 })
    report.delays = told.delays
  }

  return {
    nodeOptions: `--import data:text/javascript,${encodeURIComponent(tells(port))}`,
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

/** MB a minute, by the least squares over the second half. */
export function slopeOf(samples: readonly Sample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const [x, y] = [mean(half.map(({ minutes }) => minutes)), mean(half.map(({ mb }) => mb))]
  const above = half.reduce((sum, { minutes, mb }) => sum + (minutes - x) * (mb - y), 0)
  const below = half.reduce((sum, { minutes }) => sum + (minutes - x) ** 2, 0)
  return above / below
}
