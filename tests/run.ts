import { randomUUID } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import type { Readable } from "node:stream"
import { stripVTControlCharacters } from "node:util"
import { build, isBuilt, type Listener } from "@/scripts/build-and-serve"
import { type Child, startChild, stopOnSignal } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { provideNode } from "./support/node-versions"
import { provide } from "./support/provide"

/** `failures` names the tests that failed; a command that fails has no tests to name. */
type Tally = { passed: number; failed: number; failures: readonly string[] }
type Suite = { name: string; run: (section: Section) => Promise<Tally> }
type Options = { args?: readonly string[]; env?: Record<string, string>; node?: string }

/** The output of a running suite, which is printed as a whole: suites run side by side. */
type Section = { output: string; command?: Child }

/** Next renders pages under both listeners, but these tests also call the API, so they run under Next's listener too. */
const customerStories = ["story", "no-script"].map((name) => `e2e/${name}.spec.ts`)

/** The contract runs over HTTP: on our listener, and in the long form on Next alone. */
const withoutContract = ["--exclude=app/api/v1/contract.test.ts"]

const buildSuite: Suite = { name: "Build", run: async (section) => check(await buildOnce(section)) }

/** Suites side by side use both cores of a small machine: most wait for half of their time. */
const stages: readonly (readonly (readonly Suite[])[])[] = [
  [[{ name: "Format, lint, types and imports", run: async (section) => check(await npmRun("check", section)) }]],
  [
    [
      {
        name: "Unit tests, with a real PostgreSQL and Redis",
        run: (section) => vitest(section, "unit", { args: withoutContract }),
      },
    ],
    [
      buildSuite,
      {
        name: "A copy with another name, other work and no optional modules",
        run: (section) => vitest(section, "changed-copy"),
      },
    ],
  ],
  [
    [{ name: "Servers over HTTP", run: (section) => vitest(section, "http*") }],
    [
      { name: "Pages in a real browser", run: (section) => playwright(section, "lean") },
      { name: "Customer stories with Next alone", run: (section) => playwright(section, "next", customerStories) },
    ],
  ],
  [
    [
      {
        name: "Servers and dependencies killed under load",
        run: (section) => vitest(section, "load", { args: ["--maxWorkers=1"] }),
      },
    ],
  ],
]

const LONG = { LONG: "1" }

/** These suites take 90 minutes. */
const longSuites: readonly Suite[] = [
  {
    name: "Model tests with a thousand sequences",
    run: (section) => vitest(section, "unit", { args: ["model", "interleaving"], env: LONG }),
  },
  buildSuite,
  { name: "The contract with Next alone", run: (section) => vitest(section, "next-http") },
  {
    name: "Every fault at every endpoint, and 30,000 generated requests",
    run: (section) => vitest(section, "http", { args: ["faults", "fuzz"], env: LONG }),
  },
  {
    name: "Fifty kills, and ten minutes of load while dependencies fail",
    run: (section) => vitest(section, "load", { args: ["--maxWorkers=1"], env: LONG }),
  },
  ...[22, 24].flatMap((major): Suite[] => [
    {
      name: `Unit tests on Node ${major}`,
      run: async (section) => vitest(section, "unit", { node: await provideNode(major) }),
    },
    {
      name: `Servers over HTTP on Node ${major}`,
      run: async (section) => vitest(section, "http*", { node: await provideNode(major) }),
    },
    {
      name: `The contract with Next alone on Node ${major}`,
      run: async (section) => vitest(section, "next-http", { node: await provideNode(major) }),
    },
  ]),
]

const running = new Set<Section>()

const results = mkdtempSync(join(tmpdir(), "results-"))

/** Runs every suite even if one fails, prints the totals and every failure once more, and exits. */
export async function testEverything({ isLong }: { isLong: boolean }): Promise<void> {
  stopOnSignal(async () => {
    await Promise.all([...running].map(({ command }) => command?.stop()))
    for (const { output } of running) console.log(output)
    await rm(results, { recursive: true, force: true })
    process.exit(130)
  })
  // Vitest and Next set NODE_ENV; a value from the shell could be wrong.
  Reflect.deleteProperty(process.env, "NODE_ENV")
  await provide()
  const total = { passed: 0, failed: 0 }
  const failures: string[] = []
  async function runInTurn(suites: readonly Suite[]): Promise<void> {
    for (const { name, run } of suites) {
      const section: Section = { output: "" }
      running.add(section)
      console.log(`· ${name}`)
      const started = performance.now()
      const { passed, failed, failures: inSuite } = await run(section)
      running.delete(section)
      const seconds = Math.round((performance.now() - started) / 1000)
      console.log(`\n=== ${name}\n\n${section.output}\n${passed} passed, ${failed} failed in ${seconds} s: ${name}`)
      total.passed += passed
      total.failed += failed
      if (failed > 0) failures.push(name, ...inSuite.map((failure) => `  ${failure}`))
    }
  }
  for (const lanes of isLong ? [[longSuites]] : stages) await Promise.all(lanes.map(runInTurn))
  await rm(results, { recursive: true, force: true })
  if (failures.length > 0) console.log(`\n${["Failed:", ...failures].join("\n")}`)
  console.log(`\n${total.passed} passed, ${total.failed} failed`)
  process.exit(total.failed === 0 ? 0 : 1)
}

async function buildOnce(section: Section): Promise<boolean> {
  if (await isBuilt()) {
    section.output += "These sources are built already.\n"
    return true
  }
  const { ok, output } = await build(
    (command) => {
      section.command = command
    },
    { TYPES_CHECKED: "1" },
  )
  section.output += output
  return ok
}

/** A project that needs a build makes one with the same version of Node. */
async function vitest(section: Section, project: string, { args = [], ...options }: Options = {}): Promise<Tally> {
  const file = join(results, `${randomUUID()}.json`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]
  const ok = await run(section, "vitest/vitest.mjs", ["run", `--project=${project}`, ...reporters, ...args], options)
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

async function playwright(section: Section, listener: Listener, files: readonly string[] = []): Promise<Tally> {
  const file = join(results, `${randomUUID()}.json`)
  const env = { PLAYWRIGHT_JSON_OUTPUT_NAME: file, E2E_LISTENER: listener, E2E_PORT: String(await freePort()) }
  const ok = await run(section, "@playwright/test/cli.js", ["test", ...files, "--reporter=list,json"], { env })
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

function npmRun(script: string, section: Section): Promise<boolean> {
  return start(section, "npm", ["run", "--silent", script])
}

/** Runs a program of an npm package. @returns whether its exit code was 0 */
function run(
  section: Section,
  program: string,
  args: readonly string[],
  { node = process.execPath, env = {} }: Options,
): Promise<boolean> {
  return start(section, node, [join(root, "node_modules", program), ...args], env)
}

async function start(
  section: Section,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<boolean> {
  const colors: Record<string, string> = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}
  const child = startChild(command, args, { signal: "TERM", cwd: root, env: { ...process.env, ...colors, ...env } })
  section.command = child
  const collect = async (stream: Readable | null) => {
    for await (const text of stream?.setEncoding("utf8") ?? []) section.output += text
  }
  await Promise.all([collect(child.process.stdout), collect(child.process.stderr)])
  return (await child.exited) === 0
}
