import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { dump } from "js-yaml"
import { collect, waitForServer } from "@/scripts/build-and-serve"
import { startChild } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { onPath } from "./on-path"

export type RunningPrometheus = {
  /** The names of the alerts that fire. */
  firing: () => Promise<string[]>
  /** The number of series that a query finds. Throws if it is not PromQL. */
  count: (query: string) => Promise<number>
  stop: () => Promise<void>
}

/** Starts a Prometheus that scrapes the targets, and evaluates the rules, every second. */
export async function startPrometheus(targets: readonly string[], job: string, token: string, rules: string) {
  const directory = await mkdtemp(join(tmpdir(), "prometheus-"))
  const configuration = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: ["alerts.yaml"],
    scrape_configs: [{ job_name: job, authorization: { credentials: token }, static_configs: [{ targets }] }],
  }
  await writeFile(join(directory, "alerts.yaml"), rules)
  await writeFile(join(directory, "prometheus.yml"), dump(configuration))
  const address = `127.0.0.1:${await freePort()}`
  const flags = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", `--web.listen-address=${address}`]
  const prometheus = startChild(findPrometheus() ?? "prometheus", flags, {
    signal: "TERM",
    cwd: directory,
    env: process.env,
  })
  const output = collect(prometheus)
  if (!(await waitForServer(prometheus, `http://${address}/-/ready`)))
    throw new Error(`Prometheus did not start: install it, or set PROMETHEUS_PATH to its path.\n${output()}`)

  // It refuses requests until it has read its configuration.
  while (!(await fetch(`http://${address}/-/ready`)).ok) await sleep(50)

  async function read<Data>(path: string): Promise<Data> {
    const { status, data, error } = await (await fetch(`http://${address}/api/v1/${path}`)).json()
    if (status !== "success") throw new Error(`${path}: ${error}`)
    return data
  }

  const count = async (query: string) =>
    (await read<{ result: unknown[] }>(`query?query=${encodeURIComponent(query)}`)).result.length
  while ((await count("up")) === 0) await sleep(100)

  return {
    count,
    async firing() {
      const { alerts } = await read<{ alerts: { state: string; labels: { alertname: string } }[] }>("alerts")
      return alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname)
    },
    async stop() {
      await prometheus.stop()
      await rm(directory, { recursive: true, force: true })
    },
  } satisfies RunningPrometheus
}

/** The path of Prometheus: `PROMETHEUS_PATH`, or the one on the PATH. */
export function findPrometheus(): string | undefined {
  return process.env.PROMETHEUS_PATH || onPath("prometheus")
}
