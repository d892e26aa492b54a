import { build, collect, isBuilt, serve, waitForServer } from "./build-and-serve"
import { stopOnSignal } from "./child"
import { localAuthSecret, seedWhenEmpty, signIns } from "./demo-data"
import { openLocalDatabase, removeLocalData } from "./local-database"

type Options = { port: number; reset: boolean }

/** Everything that runs, in the order in which it was started; it ends in the opposite order. */
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
    // What ends because we stop it has not failed.
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
  step("Starting PostgreSQL in .data/postgres")
  const database = await openLocalDatabase()
  running.push(database)
  if (await seedWhenEmpty(database.url)) step("Made a data set of 18 months")
  if (!(await isBuilt())) {
    step("Building the application, which takes a minute")
    const { ok, output } = await build((command) => running.push(command))
    if (!ok) throw new Error(`The build failed:\n\n${output}`)
  }
  step("Starting the server")
  const server = serve(port, { DATABASE_URL: database.url, AUTH_SECRET: await localAuthSecret() })
  running.push(server)
  const output = collect(server)
  const address = `http://localhost:${port}`
  if (!(await waitForServer(server, `${address}/`))) throw new Error(`The server ended:\n\n${output()}`)
  console.log(
    `\n  ${address}\n\n${signIns()}\n\n  Ctrl-C stops it; the data stays in .data. npm run demo -- --reset begins anew.\n`,
  )
  server.process.stderr?.pipe(process.stderr)
  await server.exited
  throw new Error(`The server ended:\n\n${output()}`)
}

async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}

function step(text: string): void {
  console.log(`· ${text}`)
}
