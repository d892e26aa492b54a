import { isLoopbackUrl } from "@/lib/env"
import { collect, type Given, type Listener, serve, waitForServer } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { serveImage } from "./image"

export type TestServer = {
  address: string
  port: number
  /** The last lines that it printed. */
  output: () => string
  /** Resolves to its exit code. */
  exited: Promise<number>
  /** The root of its process tree. */
  pid: number
  stop: () => Promise<void>
}

/** The servers that the current file has started. */
const ofFile = new Set<TestServer>()

/** Stops servers that a file has left running, as after a failure: files share a process. */
export async function stopServersOfFile(): Promise<void> {
  await Promise.all([...ofFile].map(({ stop }) => stop()))
  ofFile.clear()
}

const acts: (() => Promise<void>)[] = []

/** Adds work to do before each further test file of the process. */
export function beforeEachFile(act: () => Promise<void>): void {
  acts.push(act)
}

export async function actBeforeFile(): Promise<void> {
  for (const act of acts) await act()
}

/** Lets a server run until the process ends. */
export function outliveFile(server: TestServer): TestServer {
  ofFile.delete(server)
  return server
}

/**
 * Serves the build with the database of the test file. Its clock is stopped, so that no rate limit window ends, and it
 * trusts one proxy's `X-Forwarded-For`, so that a test can call from several addresses.
 */
export async function startTestServer(
  listener: Listener | "image",
  given: Given = {},
  now = Date.now(),
): Promise<TestServer> {
  const { DATABASE_URL = "", AUTH_SECRET = "", BASE_URL = "" } = process.env
  const port = await freePort()
  const env = {
    DATABASE_URL,
    AUTH_SECRET,
    BASE_URL,
    TRUSTED_PROXY_HOPS: "1",
    // Staff do not need a second factor here; two-factor.test.ts requires one.
    STAFF_MFA: "off",
    // A busy machine refuses no page.
    LOOP_DELAY_MS: "60000",
    // Only a demo may have cheap hashes.
    ...((given.DEMO === "off" || !isLoopbackUrl(given.BASE_URL ?? BASE_URL)) && { PASSWORD_HASH_COST: "" }),
    NODE_OPTIONS: stoppedClock(now),
    ...given,
  }
  if (listener !== "image") env.NODE_OPTIONS = `${env.NODE_OPTIONS} ${withoutPreload}`.trim()
  const server = listener === "image" ? serveImage(port, env) : serve(port, env, listener)
  const output = collect(server)
  const address = `http://127.0.0.1:${port}`
  if (!(await waitForServer(server, `${address}/api/v1/me`))) throw new Error(`The server exited:\n\n${output()}`)
  const started = { address, port, output, exited: server.exited, pid: server.process.pid ?? 0, stop: server.stop }
  ofFile.add(started)
  return started
}

/** Next loads a page when it is requested, not all at the start, which takes a second of CPU: most suites request few. */
const withoutPreload = imported(
  `import { createRequire } from "node:module"
   const require = createRequire(process.cwd() + "/")
   require("next/dist/server/config-shared").defaultConfig.experimental.preloadEntriesOnStart = false`,
)

/** A value for NODE_OPTIONS that runs a script before the server. */
export function imported(script: string): string {
  return `--import data:text/javascript,${encodeURIComponent(script)}`
}

/** A value for NODE_OPTIONS with which `Date.now` is constant; timers run normally. */
export function stoppedClock(now = Date.now()): string {
  return imported(`Date.now = () => ${now}`)
}
