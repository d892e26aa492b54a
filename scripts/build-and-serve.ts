import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { envNames, isLoopbackUrl } from "@/lib/env"
import { type Child, startChild } from "./child"
import { root } from "./root"

const stamp = join(root, ".next/sources.sha256")

// Paths below the root that a build does not read. Names that start with a dot are excluded too.
const excluded = new Set([
  "node_modules",
  "generated",
  "bench",
  "dist",
  "docs",
  "e2e",
  "ops",
  "scripts",
  "tests",
  "test-results",
  "playwright-report",
])
const excludedFiles =
  /\.(test|spec)\.tsx?$|\.tsbuildinfo$|\.md$|^next-env\.d\.ts$|^playwright\.config\.ts$|^vitest\.config\.ts$/

/** Runs a Next.js command. Its output is not shown unless the caller pipes it. */
export function startNext(args: readonly string[], env: Record<string, string>): Child {
  return startNode([programOf("next", "dist/bin/next"), ...args], env)
}

/** Found as imports are: a copy inside the project uses the packages of the project. */
function programOf(name: string, file: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), file)
}

function startNode(args: readonly string[], env: Record<string, string>): Child {
  return startChild(process.execPath, args, { signal: "TERM", cwd: root, env: { ...process.env, ...env } })
}

/** Environment variables for the application and for Node. */
export type Given = Readonly<Record<string, string>>

/**
 * The server of the build: `lean` is our listener, as with `npm start`; `next` is Next alone, as on a serverless host.
 */
export type Listener = "lean" | "next"

/** Serves the build with the given variables and the shell's. Does not read .env, which is for development. */
export function serve(port: number, given: Given, listener: Listener = "lean"): Child {
  const env = serverEnvironment(port, given)
  return listener === "lean"
    ? startNode(["dist/main.js"], env)
    : startNext(["start", "-p", env.PORT, "-H", env.HOST], env)
}

/** The variables of a server in production, which is a demo if its address is on this machine. */
export function serverEnvironment(port: number, given: Given): Record<string, string> & { PORT: string; HOST: string } {
  const shell = Object.fromEntries(envNames.map((name) => [name, process.env[name] ?? ""]))
  const { BASE_URL = `http://localhost:${port}` } = given
  // At another address the product is not a demo, and without a mail server it verifies no addresses.
  const demo = isLoopbackUrl(BASE_URL) ? { DEMO: "on" } : { DEMO: "off", VERIFY_EMAIL: given.SMTP_URL ? "on" : "off" }
  // The demo's passwords and keys are public, so the server listens on this machine only unless HOST is set.
  const host = process.env.HOST || "127.0.0.1"
  const own = { NODE_ENV: "production", BASE_URL, ...demo }
  return { ...shell, ...own, ...given, PORT: String(port), HOST: host }
}

export async function isBuilt(): Promise<boolean> {
  if (![".next/BUILD_ID", "dist/main.js"].every((file) => existsSync(join(root, file)))) return false
  return (await readFile(stamp, "utf8").catch(() => "")) === (await digestOfSources())
}

/** Builds the application without checking types; `started` receives the commands, so that the caller can stop them. */
export async function build(started: (command: Child) => void = () => {}): Promise<{ ok: boolean; output: string }> {
  const digest = await digestOfSources()
  const env = { NODE_ENV: "production", TYPES_CHECKED: "1" }
  const commands = [
    startNext(["build"], env),
    startNode([programOf("vite", "bin/vite.js"), "build", "--config", "server/vite.config.ts"], env),
  ]
  commands.forEach(started)
  const outputs = commands.map(collect)
  const codes = await Promise.all(commands.map(({ exited }) => exited))
  const ok = codes.every((code) => code === 0)
  await mkdir(join(root, ".next"), { recursive: true })
  await writeFile(stamp, ok ? digest : "")
  return { ok, output: outputs.map((output) => output()).join("\n") }
}

/** Collects the output of a command; the returned function returns its last part. */
export function collect({ process: { stdout, stderr } }: Child): () => string {
  const chunks: string[] = []
  for (const stream of [stdout, stderr]) {
    stream?.on("data", (chunk) => {
      chunks.push(String(chunk))
      if (chunks.length > 2_000) chunks.shift()
    })
  }
  return () => chunks.join("")
}

/** Waits until the server responds. Returns false if it exits first. */
export async function waitForServer(server: Child, url: string): Promise<boolean> {
  let exited = false
  server.exited.then(() => {
    exited = true
  })
  while (!exited) {
    const responded = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(10_000) }).then(
      () => true,
      () => false,
    )
    if (responded) return true
    await new Promise((done) => setTimeout(done, 100))
  }
  return false
}

async function digestOfSources(): Promise<string> {
  const digest = createHash("sha256").update(process.version)
  for (const file of await sourcesBelow("")) {
    digest
      .update(file)
      .update("\0")
      .update(await readFile(join(root, file)))
      .update("\0")
  }
  return digest.digest("hex")
}

async function sourcesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(join(root, directory), { withFileTypes: true })
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith(".") && !excluded.has(join(directory, name)) && !excludedFiles.test(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(async (entry) => {
        const path = join(directory, entry.name)
        return entry.isDirectory() ? sourcesBelow(path) : [path]
      }),
  )
  return found.flat()
}
