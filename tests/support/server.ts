import { collect, type Given, type Listener, serve, waitForServer } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"

export type TestServer = {
  address: string
  port: number
  /** What it has printed so far. */
  output: () => string
  /** Its exit code, once it has ended. */
  exited: Promise<number>
  /** The process that runs it, with those it has started. */
  pid: number
  stop: () => Promise<void>
}

/**
 * Serves the build on the database of the test file. Its limits never start a new minute, for its clock stands still, and
 * it believes one `X-Forwarded-For`, so that a test can call from several addresses.
 */
export async function startTestServer(listener: Listener, given: Given = {}, now = Date.now()): Promise<TestServer> {
  const { DATABASE_URL = "", AUTH_SECRET = "", BASE_URL = "" } = process.env
  const port = await freePort()
  const env = {
    DATABASE_URL,
    AUTH_SECRET,
    BASE_URL,
    TRUSTED_PROXY_HOPS: "1",
    NODE_OPTIONS: stoppedClock(now),
    ...given,
  }
  const server = serve(port, env, listener)
  const output = collect(server)
  const address = `http://127.0.0.1:${port}`
  if (!(await waitForServer(server, `${address}/api/v1/me`))) throw new Error(`The server ended:\n\n${output()}`)
  return { address, port, output, exited: server.exited, pid: server.process.pid ?? 0, stop: server.stop }
}

/** For NODE_OPTIONS: `Date.now` stands still, timers go on. */
export function stoppedClock(now = Date.now()): string {
  return `--import data:text/javascript,${encodeURIComponent(`Date.now = () => ${now}`)}`
}
