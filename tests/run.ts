import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { build, isBuilt, type Listener } from "@/scripts/build-and-serve"
import { type Child, startChild, stopOnSignal } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { provideNode } from "./support/node-versions"
import { provide } from "./support/provide"

/** `failures` names the tests that failed; a command that fails has no tests to name. */
type Tally = { passed: number; failed: number; failures: readonly string[] }
type Suite = { name: string; run: (results: string) => Promise<Tally> }
type Options = { args?: readonly string[]; env?: Record<string, string>; node?: string }

/** Next renders pages under both listeners, but these tests also call the API, so they run under Next's listener too. */
const customerStories = ["story", "no-script"].map((name) => `e2e/${name}.spec.ts`)

/** The contract runs over HTTP: on our listener, and in the long form on Next alone. */
const withoutContract = ["--exclude=app/api/v1/contract.test.ts"]

const suites: readonly Suite[] = [
  { name: "Format, lint, types and imports", run: async () => check(await npmRun("check")) },
  {
    name: "Unit tests, with a real PostgreSQL and Redis",
    run: (results) => vitest(results, "unit", { args: withoutContract }),
  },
  { name: "Build", run: async () => check(await buildOnce()) },
  { name: "Servers over HTTP", run: (results) => vitest(results, "http*") },
  {
    name: "Servers and dependencies killed under load",
    run: (results) => vitest(results, "load", { args: ["--maxWorkers=1"] }),
  },
  { name: "Pages in a real browser", run: (results) => playwright(results, "lean") },
  { name: "Customer stories with Next alone", run: (results) => playwright(results, "next", customerStories) },
  {
    name: "A copy with another name, other work and no optional modules",
    run: (results) => vitest(results, "changed-copy"),
  },
]

const LONG = { LONG: "1" }

/** These suites take two hours. */
const longSuites: readonly Suite[] = [
  {
    name: "Model tests with a thousand sequences",
    run: (results) => vitest(results, "unit", { args: ["model", "interleaving"], env: LONG }),
  },
  { name: "Build", run: async () => check(await buildOnce()) },
  { name: "The contract with Next alone", run: (results) => vitest(results, "next-http") },
  {
    name: "Every fault at every endpoint, and 30,000 generated requests",
    run: (results) => vitest(results, "http", { args: ["faults", "redis-cluster", "fuzz"], env: LONG }),
  },
  {
    name: "Fifty kills, and ten minutes of load while dependencies fail",
    run: (results) => vitest(results, "load", { args: ["--maxWorkers=1"], env: LONG }),
  },
  {
    name: "Each alert fires in a real Prometheus by its fault",
    run: (results) => vitest(results, "alerts"),
  },
  {
    name: "The last release beside this one, and a million rows of the first schema",
    run: (results) => vitest(results, "upgrade"),
  },
  {
    name: "A backup under load, the loss of the database, and restores to a moment",
    run: (results) => vitest(results, "restore"),
  },
  {
    name: "The image of the Dockerfile, with the contract",
    run: (results) => vitest(results, "image"),
  },
  ...[22, 24].flatMap((major): Suite[] => [
    {
      name: `Unit tests on Node ${major}`,
      run: async (results) => vitest(results, "unit", { node: await provideNode(major) }),
    },
    {
      name: `Servers over HTTP on Node ${major}`,
      run: async (results) => vitest(results, "http*", { node: await provideNode(major) }),
    },
    {
      name: `The contract with Next alone on Node ${major}`,
      run: async (results) => vitest(results, "next-http", { node: await provideNode(major) }),
    },
  ]),
]

let current: Child | undefined

/** Runs every suite even if one fails, prints the totals and every failure once more, and exits. */
export async function testEverything({ isLong }: { isLong: boolean }): Promise<void> {
  const results = await mkdtemp(join(tmpdir(), "results-"))
  stopOnSignal(async () => {
    await current?.stop()
    await rm(results, { recursive: true, force: true })
    process.exit(130)
  })
  // Vitest and Next set NODE_ENV; a value from the shell could be wrong.
  Reflect.deleteProperty(process.env, "NODE_ENV")
  await provide("redis", "haproxy", "libfaketime", "browser", "curl", "python")
  if (isLong) {
    await provide("prometheus", "postgresql", "pgbackrest", "jq", "buildah", "mmdebstrap", "bubblewrap", "compose")
  }
  const total = { passed: 0, failed: 0 }
  const failures: string[] = []
  for (const { name, run } of isLong ? longSuites : suites) {
    console.log(`\n=== ${name}\n`)
    const started = performance.now()
    const { passed, failed, failures: inSuite } = await run(results)
    console.log(
      `\n${passed} passed, ${failed} failed in ${Math.round((performance.now() - started) / 1000)} s: ${name}`,
    )
    total.passed += passed
    total.failed += failed
    if (failed > 0) failures.push(name, ...inSuite.map((failure) => `  ${failure}`))
  }
  await rm(results, { recursive: true, force: true })
  if (failures.length > 0) console.log(`\n${["Failed:", ...failures].join("\n")}`)
  console.log(`\n${total.passed} passed, ${total.failed} failed`)
  process.exit(total.failed === 0 ? 0 : 1)
}

async function buildOnce(): Promise<boolean> {
  if (await isBuilt()) {
    console.log("These sources are built already.")
    return true
  }
  const { ok, output } = await build(
    (command) => {
      current = command
    },
    { TYPES_CHECKED: "1" },
  )
  console.log(output)
  return ok
}

/** A project that needs a build makes one with the same version of Node. */
async function vitest(results: string, project: string, { args = [], ...options }: Options = {}): Promise<Tally> {
  const file = join(results, "vitest.json")
  await rm(file, { force: true })
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]
  const ok = await run("vitest/vitest.mjs", ["run", `--project=${project}`, ...reporters, ...args], options)
  type Report = {
    numPassedTests: number
    numFailedTests: number
    testResults: {
      name: string
      status: string
      message: string
      assertionResults: { fullName: string; status: string; failureMessages?: string[] }[]
    }[]
  }
  const report = await read<Report>(file)
  if (!report) return check(false)
  // A file that fails to load reports no tests.
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  )
  const failures = report.testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName, failureMessages }) => failure(file, fullName, failureMessages?.[0])),
  )
  return tally(ok, report.numPassedTests, report.numFailedTests + unloaded.length, [
    ...failures,
    ...unloaded.map(({ name: file, message }) => failure(file, "the file did not load", message)),
  ])
}

function failure(file: string, test: string, message = ""): string {
  const [firstLine = ""] = stripVTControlCharacters(message).split("\n")
  return `${relative(root, file)}: ${test}: ${firstLine}`
}

async function playwright(results: string, listener: Listener, files: readonly string[] = []): Promise<Tally> {
  const file = join(results, `playwright-${listener}.json`)
  const env = { PLAYWRIGHT_JSON_OUTPUT_NAME: file, E2E_LISTENER: listener, E2E_PORT: String(await freePort()) }
  const ok = await run("@playwright/test/cli.js", ["test", ...files, "--reporter=list,json"], { env })
  type Group = { suites?: Group[]; specs?: Spec[] }
  type Spec = { title: string; file: string; ok: boolean; tests: { results: { error?: { message?: string } }[] }[] }
  type Report = Group & { stats: { expected: number; unexpected: number; flaky: number } }
  const report = await read<Report>(file)
  if (!report) return check(false)
  const specs = ({ suites = [], specs: own = [] }: Group): Spec[] => [...own, ...suites.flatMap(specs)]
  const failures = specs(report)
    .filter((spec) => !spec.ok)
    .map(({ title, file, tests }) => failure(join(root, file), title, tests[0]?.results[0]?.error?.message))
  return tally(ok, report.stats.expected, report.stats.unexpected + report.stats.flaky, failures)
}

function check(ok: boolean): Tally {
  return tally(ok, ok ? 1 : 0, 0)
}

/** Counts at least one failure if the command failed. */
function tally(ok: boolean, passed: number, failed: number, failures: readonly string[] = []): Tally {
  return { passed, failed: ok ? failed : Math.max(1, failed), failures }
}

function read<Report>(file: string): Promise<Report | undefined> {
  return readFile(file, "utf8").then(
    (text): Report => JSON.parse(text),
    () => undefined,
  )
}

function npmRun(script: string): Promise<boolean> {
  return start("npm", ["run", "--silent", script])
}

/** Runs a program of an npm package. @returns whether its exit code was 0 */
function run(
  program: string,
  args: readonly string[],
  { node = process.execPath, env = {} }: Options,
): Promise<boolean> {
  return start(node, [join(root, "node_modules", program), ...args], env)
}

async function start(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<boolean> {
  current = startChild(command, args, {
    signal: "TERM",
    cwd: root,
    env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }), ...env },
  })
  current.process.stdout?.pipe(process.stdout, { end: false })
  current.process.stderr?.pipe(process.stderr, { end: false })
  return (await current.exited) === 0
}
