import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import pg from "pg"
import type { Endpoint, Routes } from "@/lib/api/endpoint"
import { metrics } from "@/lib/api/metrics"
import { bulkUserId, fillInBulk } from "@/prisma/bulk"
import { root } from "@/scripts/root"
import { createKey, createUser } from "@/tests/support/factories"
import { runProgram } from "@/tests/support/lifecycle"
import { ownerUrl } from "@/tests/support/owner"
import { questionsOn, recipeQuery } from "@/tests/support/questions"
import { median, openDatabase, printConditions, quantile, sized } from "./bench"

// Measures every question of tests/support/questions.ts and every recipe with thousands and with millions of rows a
// table. bench/run.ts measures the cost of the series per run. Usage: npm run bench:metrics -- 100000 10000000

const defaultSizes = sized([100_000, 10_000_000], [1_000, 2_000])
const calls = sized(20, 1)
const goals = { ms: 300, bytes: 20_000 }

type Ask = (request: string) => Promise<object[]>
type Case = { name: string; run: (ask: Ask) => Promise<unknown> }

async function main(sizes: readonly number[]): Promise<void> {
  await openDatabase(10)
  // Neither the access log nor the request log is measured.
  Object.assign(process.env, { LOG_LEVEL: "error", REQUEST_LOG_DAYS: "0" })
  await printConditions(`medians and p95 of ${calls} calls of the route function`)
  const endpoints = await readEndpoints()
  const { GET } = metrics(
    endpoints.flatMap(({ metrics: family, permission }) => (family && permission ? [{ family, permission }] : [])),
  )
  const missed: string[] = []
  for (const rows of sizes) {
    const users = Math.min(100_000, rows / 2)
    const client = new pg.Client(ownerUrl())
    await client.connect()
    await fillInBulk(client, { rows, users })
    await client.end()
    console.log(`\n${rows.toLocaleString("en")} rows a table, ${users.toLocaleString("en")} accounts\n`)
    for (const { name, run } of casesOf(endpoints)) {
      // Each has a key of its own, so that none reaches its rate limit.
      const { secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })
      const times: number[] = []
      let bytes = 0
      const ask: Ask = async (request) => {
        const url = `http://localhost/api/v1/admin/metrics?${request}`
        const response = await GET(new Request(url, { headers: { "x-api-key": secret } }))
        const text = await response.text()
        if (response.status !== 200) throw new Error(`${request}: ${text}`)
        bytes += text.length
        return JSON.parse(text).data
      }
      for (let call = 0; call < calls + 3; call++) {
        bytes = 0
        const start = performance.now()
        await run(ask)
        if (call >= 3) times.push(performance.now() - start)
      }
      const [p50, p95] = [median(times), quantile(times, 0.95)]
      const isMet = p95 <= goals.ms && bytes <= goals.bytes
      if (!isMet) missed.push(`${name}, ${rows} rows`)
      console.log(
        [
          name.slice(0, 90).padEnd(92),
          `p50 ${p50.toFixed(1).padStart(6)} ms   p95 ${p95.toFixed(1).padStart(6)} ms   ${String(bytes).padStart(6)} bytes`,
          isMet ? "" : "   MISSED",
        ].join(""),
      )
    }
  }
  console.log(
    `\nAt most ${goals.ms} ms (p95) and ${goals.bytes} bytes: ${missed.length === 0 ? "all" : `not ${missed.join("; ")}`}`,
  )
}

/** The endpoints that declare families, without the glob of the route file, which needs a bundler. */
async function readEndpoints(): Promise<Endpoint[]> {
  const folder = join(root, "app/api/v1/admin")
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith("route.ts")).sort()
  const found: Endpoint[] = []
  for (const name of names) {
    const file = join(folder, name)
    if (!(await readFile(file, "utf8")).includes("metrics: family(")) continue
    const { GET }: Routes = await import(pathToFileURL(file).href)
    found.push(GET.endpoint)
  }
  return found
}

function casesOf(endpoints: readonly Endpoint[]): Case[] {
  const now = new Date()
  const families = endpoints.map(({ metrics: family }) => family?.name)
  const id = bulkUserId(1)
  const questions = questionsOn(now, { account: id, key: id, actor: id }).filter(({ family }) =>
    families.includes(family),
  )
  const recipes = endpoints.flatMap(({ recipes }) => Object.entries(recipes))
  return [
    ...questions.map(({ question, request }) => ({ name: question, run: (ask: Ask) => ask(request) })),
    ...recipes.map(([title, recipe]) => ({
      name: `Recipe: ${title}`,
      run: (ask: Ask) => ask(recipeQuery(recipe, now)),
    })),
  ]
}

const given = process.argv.slice(2).map(Number)
await runProgram(() => main(given.length > 0 ? given : defaultSizes))
