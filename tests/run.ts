import { mkdtemp, readFile, rm } from "node:fs/promises"
import { loadavg, tmpdir } from "node:os"
import { join, relative } from "node:path"
import { createInterface } from "node:readline"
import { stripVTControlCharacters } from "node:util"
import packages from "@/package.json" with { type: "json" }
import { build, isBuilt, type Listener } from "@/scripts/build-and-serve"
import { type Child, startChild, stopOnSignal } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { secondsOfEndedChildren, startCpuMeter } from "./cpu"
import { testFiles } from "./files"
import { provideNode } from "./support/node-versions"
import { provide } from "./support/provide"

/** `failures` names the tests that failed; a command that fails has no tests to name. */
type Tally = { passed: number; failed: number; failures: readonly string[] }
type Options = { args?: readonly string[]; env?: Record<string, string>; node?: string }
/** A suite that runs; `results` is a directory for reports. */
type Context = { name: string; results: string }
type Suite = { name: string; title: string; run: (context: Context) => Promise<Tally> }
/** Times are in milliseconds of the clock and in seconds of the CPU. */
type Ended = { title: string; wall: number; cpu: number; tally?: Tally }

const whole: Options = { env: { LONG: "1" } }
const hostile: Options = { env: { HOSTILE_SETTINGS: "1" } }
const short: Options = { args: ["--tagsFilter=!long"] }

const unit = (options?: Options): Suite => ({
  name: "unit",
  title: "Unit tests, with a real PostgreSQL and Redis",
  // The contract runs over HTTP.
  run: (context) => vitest(context, "unit*", options, "--exclude=app/api/v1/contract.test.ts"),
})

const http = (options?: Options): Suite => ({
  name: "http",
  title: "Servers over HTTP",
  run: (context) => vitest(context, "http*", options),
})

const browser = (options?: Options): Suite => ({
  name: "browser",
  title: "Pages in a real browser",
  run: (context) => playwright(context, "lean", options),
})

/**
 * Two lanes run beside each other, because suites wait half of their time. Lint and types come after the build, because
 * both write the types of routes.
 */
const lanes: readonly (readonly Suite[])[] = [
  [unit(short), browser({ args: ["--grep-invert=@long"] })],
  [
    { name: "build", title: "Build", run: async (context) => outcome(context, await buildOnce(context)) },
    {
      name: "check",
      title: "Format, lint, types and imports",
      run: async (context) => outcome(context, await start(context, "npm", ["run", "--silent", "check"])),
    },
    http(short),
  ],
]

/** The complete suites, which `npm test` samples or leaves out. They run one after the other. */
const longSuites: readonly Suite[] = [
  unit(whole),
  http(whole),
  browser(whole),
  {
    name: "next",
    title: "The contract and customer stories with Next alone",
    run: async (context) =>
      sum([
        await vitest(context, "next-http"),
        await playwright(context, "next", { args: ["e2e/story.spec.ts", "e2e/no-script.spec.ts"] }),
      ]),
  },
  {
    name: "hostile",
    title: "Unit tests, the contract and pages on databases with another time zone, date style and isolation",
    run: async (context) =>
      sum([
        await vitest(context, "unit*", hostile, "--exclude=app/api/v1/contract.test.ts"),
        await vitest(context, "http*", { ...hostile, args: ["app/api/v1/contract.test.ts"] }),
        await playwright(context, "lean", hostile),
      ]),
  },
  {
    name: "load",
    title: "Fifty kills, and ten minutes of load while dependencies fail",
    run: (context) => vitest(context, "load", whole, "--maxWorkers=1"),
  },
  {
    name: "changed-copy",
    title: "npm test in a copy in which everything is changed that documents say how to change",
    run: (context) => vitest(context, "changed-copy"),
  },
  {
    name: "alerts",
    title: "Each alert fires in a real Prometheus by its fault",
    run: (context) => vitest(context, "alerts"),
  },
  {
    name: "upgrade",
    title: "The last release beside this one, and a million rows of the first schema",
    run: (context) => vitest(context, "upgrade"),
  },
  {
    name: "restore",
    title: "A backup under load, the loss of the database, and restores to a moment",
    run: (context) => vitest(context, "restore"),
  },
  {
    name: "replicas",
    title: "Reads from standbys that lag, hang, die, conflict, are promoted or do not follow a failover",
    run: (context) => vitest(context, "replicas"),
  },
  {
    name: "ha",
    title: "Twenty failures of a cluster of three database machines under load",
    run: (context) => vitest(context, "ha"),
  },
  {
    name: "image",
    title: "The image of the Dockerfile, with the contract",
    run: (context) => vitest(context, "image"),
  },
  {
    name: "benches",
    title: "Every bench in a short form, up to its figures",
    async run(context) {
      const tallies: Tally[] = []
      for (const name of Object.keys(packages.scripts).filter((name) => name.startsWith("bench:"))) {
        const ok = await start(context, "npm", ["run", "--silent", name], { BENCH_SHORT: "1" })
        const ended = outcome(context, ok)
        tallies.push({ ...ended, failures: ok ? [] : [`npm run ${name}:`, ...ended.failures] })
      }
      return sum(tallies)
    },
  },
  ...[22, 24].map(
    (major): Suite => ({
      name: `node-${major}`,
      title: `Unit tests, servers over HTTP and the contract with Next alone on Node ${major}`,
      async run(context) {
        const node = await provideNode(major)
        const tallies: Tally[] = []
        for (const project of ["unit*", "http*", "next-http"]) tallies.push(await vitest(context, project, { node }))
        return sum(tallies)
      },
    }),
  ),
]

const running = new Set<Child>()
const cpu = startCpuMeter()

/**
 * Runs every suite even if one fails, prints the times and every failure once more, and exits.
 * @param parts of the long form: names of suites, or parts of the paths of test files
 * @param installedSince when the installation of packages started, by performance.now()
 */
export async function runTests(given: {
  isLong: boolean
  parts: readonly string[]
  installedSince: number
}): Promise<void> {
  const { isLong, parts, installedSince } = given
  const chosen = isLong && parts.length === 0 ? longSuites : parts.flatMap(suitesNamed)
  const results = await mkdtemp(join(tmpdir(), "results-"))
  stopOnSignal(async () => {
    await Promise.all([...running].map(({ stop }) => stop()))
    await rm(results, { recursive: true, force: true })
    process.exit(130)
  })
  // Vitest and Next set NODE_ENV; a value from the shell could be wrong.
  Reflect.deleteProperty(process.env, "NODE_ENV")
  await provide("redis", "haproxy", "libfaketime", "browser", "curl", "python")
  if (isLong) {
    await provide(
      "prometheus",
      "postgresql",
      "pgbackrest",
      "patroni",
      "etcd",
      "jq",
      "buildah",
      "mmdebstrap",
      "bubblewrap",
      "compose",
    )
  }
  const ended: Ended[] = [
    { title: "Packages and programs", wall: performance.now() - installedSince, cpu: secondsOfEndedChildren() },
  ]
  async function runLane(suites: readonly Suite[]): Promise<void> {
    for (const { name, title, run } of suites) {
      print(name, `=== ${title}`)
      const [started, before] = [performance.now(), cpu.secondsOf(name)]
      const tally = await run({ name, results })
      const row = { title, wall: performance.now() - started, cpu: cpu.secondsOf(name) - before, tally }
      print(name, timesOf(row))
      ended.push(row)
    }
  }
  if (parts.length === 0) await Promise.all(lanes.map(runLane))
  await runLane(chosen)
  await rm(results, { recursive: true, force: true })

  const failures = ended.flatMap(({ title, tally }) =>
    tally && tally.failed > 0 ? [title, ...tally.failures.map((failure) => `  ${failure}`)] : [],
  )
  if (failures.length > 0) console.log(`\n${["Failed:", ...failures].join("\n")}`)
  const used = ended.reduce((total, { cpu }) => total + cpu, 0)
  const load = loadavg().map((average) => average.toFixed(1))
  console.log(`\n${ended.map(timesOf).join("\n")}`)
  console.log(
    timesOf({ title: `In all, at a load of ${load.join(", ")}`, wall: performance.now() - installedSince, cpu: used }),
  )
  const { passed, failed } = sum(ended.flatMap(({ tally }) => tally ?? []))
  console.log(`\n${passed} passed, ${failed} failed`)
  process.exit(failed === 0 ? 0 : 1)
}

/** A line like `  312 s   401 s of CPU  Servers over HTTP: 812 passed, 0 failed`. */
function timesOf({ title, wall, cpu, tally }: Ended): string {
  const seconds = (value: number) => `${Math.round(value)} s`.padStart(7)
  const used = cpu > 0 ? `${seconds(cpu)} of CPU` : ""
  return `${seconds(wall / 1000)}${used}  ${title}${tally ? `: ${tally.passed} passed, ${tally.failed} failed` : ""}`
}

/** The suite of this name, or one of the test files whose paths contain it. */
function suitesNamed(part: string): readonly Suite[] {
  const named = longSuites.filter(({ name }) => name === part)
  if (named.length > 0) return named
  const projects = new Set(
    testFiles()
      .filter((file) => file.includes(part))
      .map(projectOf),
  )
  if (projects.size === 0) {
    console.error(
      `No suite and no test file is named ${part}. Suites: ${longSuites.map(({ name }) => name).join(", ")}`,
    )
    process.exit(2)
  }
  const options = { ...whole, args: [part] }
  return [...projects].map((project) => ({
    name: project.replace("*", ""),
    title: `Test files named ${part}, ${project.replace("*", "")}`,
    run: (context) =>
      project === "browser" ? playwright(context, "lean", options) : vitest(context, project, options),
  }))
}

/** The project of vitest.config.ts that has the file; Playwright has the browser tests. */
function projectOf(file: string): string {
  if (file.endsWith(".spec.ts")) return "browser"
  const [, folder] = /^tests\/(load|alerts|upgrade|restore|ha|image)\//.exec(file) ?? []
  if (folder) return folder
  if (/^tests\/(changed-copy|removal|rename|replace-work|tutorial|upstream)\b/.test(file)) return "changed-copy"
  return file.startsWith("tests/http/") || file === "app/api/v1/contract.test.ts" ? "http*" : "unit*"
}

/** Browser tests wait for it if the unit tests end first. */
let built: Promise<boolean> | undefined

function buildOnce(context: Context): Promise<boolean> {
  built ??= buildIfChanged(context)
  return built
}

async function buildIfChanged({ name }: Context): Promise<boolean> {
  if (await isBuilt()) {
    print(name, "These sources are built already.")
    return true
  }
  const { ok, output } = await build((command) => run(command, name))
  for (const line of output.split("\n")) print(name, line)
  return ok
}

/** A project that needs a build makes one with the same version of Node. */
async function vitest(context: Context, project: string, options: Options = {}, ...more: string[]): Promise<Tally> {
  const file = join(context.results, `${context.name}-${project.replace("*", "")}.json`)
  await rm(file, { force: true })
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]
  const args = ["run", `--project=${project}`, ...reporters, ...more, ...(options.args ?? [])]
  const ok = await runProgram(context, "vitest/vitest.mjs", args, options)
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
  if (!report) return outcome(context, false)
  // A file that fails to load reports no tests.
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  )
  const failures = report.testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName, failureMessages }) => failure(file, fullName, failureMessages?.[0])),
  )
  return tally(context, ok, report.numPassedTests, report.numFailedTests + unloaded.length, [
    ...failures,
    ...unloaded.map(({ name: file, message }) => failure(file, "the file did not load", message)),
  ])
}

function failure(file: string, test: string, message = ""): string {
  const [firstLine = ""] = stripVTControlCharacters(message).split("\n")
  return `${relative(root, file)}: ${test}: ${firstLine}`
}

async function playwright(context: Context, listener: Listener, options: Options = {}): Promise<Tally> {
  await built
  const file = join(context.results, `playwright-${listener}.json`)
  const port = String(await freePort())
  const env = { PLAYWRIGHT_JSON_OUTPUT_NAME: file, E2E_LISTENER: listener, E2E_PORT: port, ...options.env }
  const args = ["test", ...(options.args ?? []), "--reporter=list,json"]
  const ok = await runProgram(context, "@playwright/test/cli.js", args, { env })
  type Group = { suites?: Group[]; specs?: Spec[] }
  type Spec = { title: string; file: string; ok: boolean; tests: { results: { error?: { message?: string } }[] }[] }
  type Report = Group & { stats: { expected: number; unexpected: number; flaky: number } }
  const report = await read<Report>(file)
  if (!report) return outcome(context, false)
  const specs = ({ suites = [], specs: own = [] }: Group): Spec[] => [...own, ...suites.flatMap(specs)]
  const failures = specs(report)
    .filter((spec) => !spec.ok)
    .map(({ title, file, tests }) => failure(join(root, file), title, tests[0]?.results[0]?.error?.message))
  return tally(context, ok, report.stats.expected, report.stats.unexpected + report.stats.flaky, failures)
}

/** A command counts as one test. */
function outcome(context: Context, ok: boolean): Tally {
  return tally(context, ok, ok ? 1 : 0, 0)
}

/** Counts at least one failure if the command failed. Its last lines are the reason if no test failed. */
function tally(
  { name }: Context,
  ok: boolean,
  passed: number,
  failed: number,
  failures: readonly string[] = [],
): Tally {
  const reasons = ok || failures.length > 0 ? failures : (lastLines.get(name) ?? [])
  return { passed, failed: ok ? failed : Math.max(1, failed), failures: reasons }
}

function sum(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((total, { passed }) => total + passed, 0),
    failed: tallies.reduce((total, { failed }) => total + failed, 0),
    failures: tallies.flatMap(({ failures }) => failures),
  }
}

function read<Report>(file: string): Promise<Report | undefined> {
  return readFile(file, "utf8").then(
    (text): Report => JSON.parse(text),
    () => undefined,
  )
}

/** Runs a program of an npm package. @returns whether its exit code was 0 */
function runProgram(
  context: Context,
  program: string,
  args: readonly string[],
  { node = process.execPath, env }: Options,
): Promise<boolean> {
  return start(context, node, [join(root, "node_modules", program), ...args], env)
}

async function start(
  { name }: Context,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<boolean> {
  const child = startChild(command, args, {
    signal: "TERM",
    cwd: root,
    env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }), ...env },
  })
  run(child, name)
  for (const stream of [child.process.stdout, child.process.stderr]) {
    if (stream) createInterface({ input: stream }).on("line", (line) => print(name, line))
  }
  const code = await child.exited
  running.delete(child)
  return code === 0
}

function run(child: Child, name: string): void {
  running.add(child)
  if (child.process.pid) cpu.count(child.process.pid, name)
}

const lastLines = new Map<string, string[]>()

/** Other suites print beside this one, so each line has its name. */
function print(name: string, line: string): void {
  lastLines.set(name, [...(lastLines.get(name) ?? []), line.slice(0, 300)].slice(-25))
  console.log(`${name.padEnd(8)}│ ${line}`)
}
