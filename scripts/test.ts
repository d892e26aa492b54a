import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { provide } from "@/tests/support/provide"
import { type Guarded, startGuarded, stopOnSignal } from "./guarded"
import { build, isBuilt, type Listener } from "./next"
import { freePort } from "./postgres"
import { root } from "./root"

type Tally = { passed: number; failed: number }
type Suite = { name: string; run: (results: string) => Promise<Tally> }

const suites: readonly Suite[] = [
  {
    name: "Format and lint",
    run: async () => check(await run("@biomejs/biome/bin/biome", ["check", "--error-on-warnings", "."])),
  },
  {
    name: "Types",
    run: async () =>
      check((await run("next/dist/bin/next", ["typegen"])) && (await run("typescript/bin/tsc", ["--noEmit"]))),
  },
  { name: "Rules, against a real PostgreSQL and Redis", run: (results) => vitest(results, "vitest.config.ts") },
  { name: "Build", run: async () => check(await buildOnce()) },
  { name: "The servers, alone and several, over HTTP", run: overHttp },
  { name: "104 Servers and database killed under load", run: () => underLoad("chaos") },
  { name: "Everything at once, while dependencies fail", run: () => underLoad("soak") },
  { name: "Pages, in a real browser", run: (results) => playwright(results, "lean") },
  { name: "What customers do, with Next alone", run: (results) => playwright(results, "next", customerStories) },
  { name: "Modules, each taken out", run: (results) => vitest(results, "vitest.removal.config.ts") },
]

/** Pages are Next's whoever listens. These tests go back and forth between them and the API. */
const customerStories = ["story", "no-script", "sign-in"].map((name) => `e2e/${name}.spec.ts`)

let current: Guarded | undefined

/** Runs every suite, also after a failure, and ends with the sum of all. */
export async function testEverything(): Promise<void> {
  const results = await mkdtemp(join(tmpdir(), "tsk-results-"))
  stopOnSignal(async () => {
    await current?.stop()
    await rm(results, { recursive: true, force: true })
    process.exit(130)
  })
  // Vitest and Next choose their own; the shell's may be another.
  Reflect.deleteProperty(process.env, "NODE_ENV")
  await provide()
  const total: Tally = { passed: 0, failed: 0 }
  for (const { name, run } of suites) {
    console.log(`\n=== ${name}\n`)
    const { passed, failed } = await run(results)
    total.passed += passed
    total.failed += failed
  }
  await rm(results, { recursive: true, force: true })
  console.log(`\n${total.passed} passed, ${total.failed} failed`)
  process.exit(total.failed === 0 ? 0 : 1)
}

async function buildOnce(): Promise<boolean> {
  if (await isBuilt()) {
    console.log("These sources are built already.")
    return true
  }
  const { ok, output } = await build((command) => {
    current = command
  })
  console.log(output)
  return ok
}

async function vitest(results: string, config: string): Promise<Tally> {
  const file = join(results, `${config}.json`)
  const ok = await run("vitest/vitest.mjs", [
    "run",
    `--config=${config}`,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
  ])
  type Report = {
    numPassedTests: number
    numFailedTests: number
    testResults: { status: string; assertionResults: unknown[] }[]
  }
  const report = await read<Report>(file)
  if (!report) return check(false)
  // A file that does not load fails without a test of its own.
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  )
  return tally(ok, report.numPassedTests, report.numFailedTests + unloaded.length)
}

async function overHttp(results: string): Promise<Tally> {
  return (await hasBuild()) ? vitest(results, "vitest.listeners.config.ts") : check(false)
}

async function underLoad(what: "chaos" | "soak"): Promise<Tally> {
  return check((await hasBuild()) && (await run("tsx/dist/cli.mjs", [`scripts/${what}.ts`, "--short"])))
}

async function playwright(results: string, listener: Listener, files: readonly string[] = []): Promise<Tally> {
  if (!(await hasBuild())) return check(false)
  const file = join(results, `playwright-${listener}.json`)
  const ok = await run("@playwright/test/cli.js", ["test", ...files, "--reporter=list,json"], {
    PLAYWRIGHT_JSON_OUTPUT_NAME: file,
    E2E_LISTENER: listener,
    E2E_PORT: String(await freePort()),
  })
  const report = await read<{ stats: { expected: number; unexpected: number; flaky: number } }>(file)
  if (!report) return check(false)
  return tally(ok, report.stats.expected, report.stats.unexpected + report.stats.flaky)
}

async function hasBuild(): Promise<boolean> {
  const built = await isBuilt()
  if (!built) console.log("Left out: there is no build.")
  return built
}

function check(ok: boolean): Tally {
  return tally(ok, ok ? 1 : 0, 0)
}

/** A command that fails without naming a test has failed once. */
function tally(ok: boolean, passed: number, failed: number): Tally {
  return { passed, failed: ok ? failed : Math.max(1, failed) }
}

function read<Report>(file: string): Promise<Report | undefined> {
  return readFile(file, "utf8").then(
    (text): Report => JSON.parse(text),
    () => undefined,
  )
}

/** Runs a program of a package, its output shown; tells whether it ended well. */
async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<boolean> {
  current = startGuarded(process.execPath, [join(root, "node_modules", program), ...args], {
    signal: "TERM",
    cwd: root,
    env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }), ...env },
  })
  current.process.stdout?.pipe(process.stdout, { end: false })
  current.process.stderr?.pipe(process.stderr, { end: false })
  return (await current.exited) === 0
}
