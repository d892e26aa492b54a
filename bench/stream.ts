import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { createServer, get, type IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import pg from "pg"
import { csv, ndjson } from "@/lib/api/streams/formats"
import { findIn, type Statement } from "@/lib/platform/postgres/page"
import { orderRow } from "@/lib/purchases/orders"
import { bulkMs, fillInBulk } from "@/prisma/bulk"
import { serve } from "@/scripts/build-and-serve"
import { startChild } from "@/scripts/child"
import { root } from "@/scripts/root"
import { createKey, createUser } from "@/tests/support/factories"
import { provideBuild, runProgram } from "@/tests/support/lifecycle"
import { rssMbOf } from "@/tests/support/memory"
import { ownerUrl } from "@/tests/support/owner"
import { cpuMsOf, median, openDatabase, printConditions, type Server, sized, startServer } from "./bench"

// Measures streams of all orders over HTTP: rows per second and memory, on both listeners, against a bare HTTP server that
// reads the same statement through a cursor and writes JSON. Usage: npm run bench:stream -- 1000000

const defaultRows = sized(1_000_000, 30_000)
const rounds = sized(3, 1)
const batch = 500
const goals = { rowsPerSecond: 20_000, ratio: 0.4, growthMb: 60 }

type Contender = { name: string; server: Server; type: string; secret: string }
/** `growthMb`: the most memory that the server may take for all rows above a third of them. */
type Measure = { rowsPerSecond: number; cpuMs: number; growthMb: number }

async function main(rows: number): Promise<void> {
  await provideBuild()
  const given = await openDatabase(10)
  const client = new pg.Client(ownerUrl())
  await client.connect()
  await fillInBulk(client, { rows, users: 10_000 })
  await client.end()
  await printConditions(`${rows} orders in one response, medians of ${rounds} rounds in turns`)
  const { secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })

  const statement = await findIn({ table: "orders", row: orderRow }).all({}, { order: "desc" })
  const floor = await startServer(
    (port) => startFloor(port, { ...given, STATEMENT: JSON.stringify(statement) }),
    "/?none",
  )
  const path = "/api/v1/me"
  const [lean, next] = [
    await startServer((port) => serve(port, given, "lean"), path),
    await startServer((port) => serve(port, given, "next"), path),
  ]
  const contenders: Contender[] = [
    { name: "bare server, same statement", server: floor, type: ndjson.type, secret },
    { name: "NDJSON, lean listener", server: lean, type: ndjson.type, secret },
    { name: "CSV, lean listener", server: lean, type: csv.type, secret },
    { name: "NDJSON, Next alone", server: next, type: ndjson.type, secret },
  ]
  const taken = contenders.map((contender) => ({ contender, measures: [] as Measure[] }))
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const { contender, measures } of taken) {
      const part = await measure(contender, `?since=${new Date(Date.now() - bulkMs / 3).toISOString()}`)
      const all = await measure(contender)
      if (round > 0) measures.push({ ...all, growthMb: all.highestMb - part.highestMb })
    }
  }
  print(taken.map(({ contender: { name }, measures }) => ({ name, ...medianOf(measures) })))
}

async function measure({ server, type, secret }: Contender, query = "") {
  const pid = server.command.process.pid
  const cpu = await cpuMsOf(pid)
  const started = performance.now()
  const sent = get(`${server.address}/api/v1/admin/orders${query}`, {
    headers: { "x-api-key": secret, accept: type },
    agent: false,
  })
  const [response] = (await once(sent, "response")) as [IncomingMessage]
  let lines = 0
  let highestMb = 0
  const watching = setInterval(async () => {
    highestMb = Math.max(highestMb, await rssOf(server))
  }, 50)
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  }
  clearInterval(watching)
  if (!response.complete) throw new Error(`The stream broke off after ${lines} lines.`)
  // The line of names or of the total.
  const rows = lines - 1
  const ms = performance.now() - started
  return { rowsPerSecond: (rows / ms) * 1_000, cpuMs: (await cpuMsOf(pid)) - cpu, highestMb }
}

/** The resident memory in MB of a server that a shell has started with a watcher (Linux only). */
async function rssOf({ command }: Server): Promise<number> {
  const children = await readFile(`/proc/${command.process.pid}/task/${command.process.pid}/children`, "utf8")
  const sizes = await Promise.all(
    children
      .trim()
      .split(" ")
      .map((pid) => rssMbOf(Number(pid)).catch(() => 0)),
  )
  return Math.max(...sizes)
}

function medianOf(measures: readonly Measure[]): Measure {
  const of = (field: keyof Measure) => median(measures.map((measure) => measure[field]))
  return { rowsPerSecond: of("rowsPerSecond"), cpuMs: of("cpuMs"), growthMb: of("growthMb") }
}

function print(measures: readonly ({ name: string } & Measure)[]): void {
  const [floor] = measures
  console.log(`\n${"".padEnd(32)}    rows/s     ratio   CPU ms   RSS growth`)
  for (const { name, rowsPerSecond, cpuMs, growthMb } of measures) {
    const ratio = rowsPerSecond / (floor?.rowsPerSecond ?? 1)
    const isMet = rowsPerSecond >= goals.rowsPerSecond && ratio >= goals.ratio && growthMb <= goals.growthMb
    console.log(
      [
        name.padEnd(32),
        rowsPerSecond.toFixed(0).padStart(10),
        `${ratio.toFixed(2)} x`.padStart(10),
        cpuMs.toFixed(0).padStart(9),
        `${growthMb.toFixed(0)} MB`.padStart(13),
        floor?.name === name ? "" : `   ${isMet ? "met" : "missed"}`,
      ].join(""),
    )
  }
  const { rowsPerSecond, ratio, growthMb } = goals
  console.log(`Goals: >= ${rowsPerSecond} rows/s, >= ${ratio} x the bare server, <= ${growthMb} MB`)
}

function startFloor(port: number, env: Record<string, string>) {
  const args = [...process.execArgv, import.meta.filename, "floor", String(port)]
  return startChild(process.execPath, args, { signal: "TERM", cwd: root, env: { ...process.env, ...env } })
}

/** The minimum: a cursor, JSON.stringify and an HTTP server. */
function serveFloor(port: number): void {
  const { text, values } = JSON.parse(process.env.STATEMENT ?? "") as Statement
  async function* lines() {
    const client = new pg.Client(process.env.DATABASE_URL)
    await client.connect()
    await client.query("BEGIN")
    await client.query({ text: `DECLARE list NO SCROLL CURSOR FOR ${text}`, values })
    let count = 0
    for (;;) {
      const { rows } = await client.query(`FETCH ${batch} FROM list`)
      count += rows.length
      if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(row)}\n`).join("")
      if (rows.length < batch) break
    }
    await client.end()
    yield `${JSON.stringify({ meta: { total: count } })}\n`
  }
  createServer((request, response) => {
    if (request.url === "/?none") response.end()
    else Readable.from(lines(), { objectMode: true, highWaterMark: 1 }).pipe(response)
  }).listen(port, "127.0.0.1")
  process.on("SIGTERM", () => process.exit(0))
}

const [first, port] = process.argv.slice(2)
if (first === "floor") serveFloor(Number(port))
else await runProgram(() => main(Number(first ?? defaultRows)))
