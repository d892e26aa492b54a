import { createInterface } from "node:readline"
import { build, collect, isBuilt, serve, waitForServer } from "./build-and-serve"
import { stopOnSignal } from "./child"
import { localAuthSecret, publicNotice, seedWhenEmpty, signIns } from "./demo-data"
import { buyPlans, startDemoPayments } from "./demo-payments"
import { type Database, openLocalDatabase, removeLocalData } from "./local-database"

type Options = { port: number; reset: boolean }

/** The running processes in the order in which they were started; they are stopped in reverse order. */
const running: { stop: () => Promise<void> }[] = []
let stopping = false

export async function startDemo(options: Options): Promise<void> {
  stopOnSignal(async () => {
    stopping = true
    step("Stopping")
    await stopAll()
  })
  try {
    await run(options)
  } catch (error) {
    // A process that exits because it is stopped has not failed.
    if (stopping) return
    console.error(`\n${error instanceof Error ? error.message : error}`)
    await stopAll()
    process.exit(1)
  }
}

async function run({ port, reset }: Options): Promise<void> {
  if (reset) {
    step("Removing .data")
    await removeLocalData()
  }
  const [database] = await Promise.all([openDatabase(), provideBuild()])
  step("Starting the server")
  const payments = await startDemoPayments(port)
  running.push(payments)
  const given = { ...payments.given, DATABASE_URL: database.url, AUTH_SECRET: await localAuthSecret() }
  const server = serve(port, given)
  running.push(server)
  const output = collect(server)
  const address = `http://localhost:${port}`
  if (!(await waitForServer(server, `${address}/`))) throw new Error(`The server exited:\n\n${output()}`)
  await buyPlans(payments.control, database.ownerUrl)
  const accounts = await signIns(database.ownerUrl)
  step(`Ready in ${Math.round(performance.now() / 1000)} s`)
  console.log(
    `\n  ${address}\n  ${address}/dev/mailbox has the emails\n  ${payments.url} stands in for Stripe: no money moves\n\n${accounts}\n\n${publicNotice(process.env.HOST || "localhost")}  Press Ctrl-C to stop; data is kept in .data. Run npm run demo -- --reset to start with new data.\n`,
  )
  server.process.stderr?.pipe(process.stderr)
  if (server.process.stdout) createInterface(server.process.stdout).on("line", printError)
  await server.exited
  throw new Error(`The server exited:\n\n${output()}`)
}

/** A library's output is an entry of the server's log: see lib/platform/telemetry/printed.ts. */
function printError(line: string): void {
  if (!line.includes('"event":"printed"')) return
  const { stream, text } = JSON.parse(line)
  if (stream === "stderr") console.error(text)
}

async function openDatabase(): Promise<Database> {
  step("Starting PostgreSQL in .data/postgres")
  const database = await openLocalDatabase()
  running.push(database)
  if (await seedWhenEmpty(database.ownerUrl)) step("Created 18 months of sample data")
  return database
}

async function provideBuild(): Promise<void> {
  if (await isBuilt()) return
  step("Building the application, which takes a minute")
  const { ok, output } = await build((command) => running.push(command))
  if (!ok) throw new Error(`The build failed:\n\n${output}`)
}

async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}

function step(text: string): void {
  console.log(`· ${text}`)
}
