import { join } from "node:path"
import { collect } from "@/scripts/build-and-serve"
import { startChild } from "@/scripts/child"
import { root } from "@/scripts/root"
import { stopAtExit } from "@/tests/support/lifecycle"
import { onPath } from "@/tests/support/on-path"
import { provide } from "@/tests/support/provide"
import { quantile } from "./bench"

/**
 * Requests to `url`; `keys` are sent in turn. `pauseMs`: mean pause of a connection between two requests. `body`: JSON to
 * post; GET requests without it.
 */
type Load = {
  url: string
  keys: readonly string[]
  connections: number
  seconds: number
  pauseMs?: number
  body?: string
}
/** `p50`, `p95` and `p99`: of the time until a response, in ms. */
type Result = { requests: number; perSecond: number; p50: number; p95: number; p99: number }

type Client = {
  name: string
  /** @throws Error if any request fails or its status is not 2xx */
  load: (load: Load) => Promise<Result>
}

/** wrk, or autocannon where wrk cannot be installed: it takes several times the CPU from the server that it measures. */
export async function provideClient(): Promise<Client> {
  await provide("wrk")
  const wrk = onPath("wrk")
  if (wrk) return { name: "wrk, one thread", load: (load) => loadWithWrk(wrk, load) }
  return { name: "autocannon, because wrk cannot be installed", load: loadWithAutocannon }
}

async function loadWithWrk(
  wrk: string,
  { url, keys, connections, seconds, pauseMs = 0, body = "" }: Load,
): Promise<Result> {
  const options = [
    "-t1",
    `-c${connections}`,
    `-d${seconds}s`,
    "--timeout",
    "10s",
    "-s",
    join(root, "bench/wrk.lua"),
    url,
    "--",
    String(pauseMs),
    body,
    ...keys,
  ]
  const command = stopAtExit(startChild(wrk, options, { signal: "TERM", cwd: root, env: process.env }))
  const output = collect(command)
  await command.exited
  const json = /^\{.*\}$/m.exec(output())?.[0]
  if (!json) throw new Error(`${url}: ${output()}`)
  const { failures, requests, seconds: took, ...times } = JSON.parse(json)
  if (failures > 0) throw new Error(`${url}: ${failures} of ${requests} requests failed.`)
  return { requests, perSecond: requests / took, ...times }
}

async function loadWithAutocannon({ pauseMs, ...load }: Load): Promise<Result> {
  // Imported here because its packages are installed at run time.
  const autocannon = await import("./rivals/load.js")
  const { perSecond, requests, times } = await autocannon.load({
    ...load,
    ...(pauseMs && { rate: (1_000 * load.connections) / pauseMs }),
  })
  return { perSecond, requests, p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) }
}
