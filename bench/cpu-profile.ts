import { readFile } from "node:fs/promises"

/** The fields of a V8 CPU profile that are read. Microseconds of the monotonic clock, as in `process.hrtime`. */
type Profile = {
  nodes: readonly { id: number; callFrame: Frame; children?: readonly number[] }[]
  /** The innermost frame, `timeDeltas` after the sample before. */
  samples: readonly number[]
  timeDeltas: readonly number[]
  startTime: number
}
type Frame = { functionName: string; url: string }
/** From `start` to `end`, in microseconds. */
export type Period = { start: number; end: number }

/** A frame's time counts in the first row that it matches, with the functions it calls that match no row themselves. */
const parts: readonly [name: string, isPart: (frame: Frame) => boolean][] = [
  ["socket writes, of HTTP and pg", ({ functionName }) => /^(writev|write\w+String|writeBuffer)$/.test(functionName)],
  ["garbage collection", ({ functionName }) => functionName === "(garbage collector)"],
  ["event loop, socket reads", ({ functionName }) => functionName === "(program)"],
  ["pg", ({ url }) => /\/node_modules\/pg(-\w+)?\//.test(url)],
  ["access log: pino", ({ url }) => /\/node_modules\/(pino|sonic-boom)\//.test(url)],
  ["metrics: prom-client", ({ url }) => url.includes("/node_modules/prom-client/")],
  ["rate limit: @upstash/ratelimit", ({ url }) => url.includes("/node_modules/@upstash/")],
  ["Request, Headers and Response", ({ url }) => /\/node_modules\/srvx\/|internal\/deps\/undici\//.test(url)],
  ["HTTP and streams of Node", ({ url }) => /^node:(_http_|net$|internal\/stream)/.test(url)],
  ["the product's own functions", ({ url }) => url.endsWith("/dist/main.js")],
]

/** The share of each part in the busy time of the main thread, in a period of a profile. */
export async function readShares(file: string, { start, end }: Period): Promise<[name: string, share: number][]> {
  const { nodes, samples, timeDeltas, startTime }: Profile = JSON.parse(await readFile(file, "utf8"))
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))

  function partOf(id: number): string {
    for (let frame: number | undefined = id; frame !== undefined; frame = callers.get(frame)) {
      const part = parts.find(([, isPart]) => isPart(frames.get(frame ?? 0) as Frame))
      if (part) return part[0]
    }
    return "rest"
  }

  const busy = new Map<string, number>()
  let time = startTime
  for (const [index, id] of samples.entries()) {
    time += timeDeltas[index] ?? 0
    if (time < start || time > end || frames.get(id)?.functionName === "(idle)") continue
    const part = partOf(id)
    busy.set(part, (busy.get(part) ?? 0) + (timeDeltas[index + 1] ?? 0))
  }
  const total = [...busy.values()].reduce((sum, part) => sum + part, 0)
  return [...busy].map(([name, part]): [string, number] => [name, part / total]).sort(([, a], [, b]) => b - a)
}
