import { build, isBuilt } from "@/scripts/build-and-serve"
import { stopOnSignal } from "@/scripts/child"

type Running = { stop: () => Promise<void> }

/** Everything that runs, in the order in which it was started; it ends in the opposite order. */
const running: Running[] = []
let stopping = false

/**
 * Runs a program and ends the process; nothing that was started outlives it.
 * @param main yields false when it has found something wrong: the exit code is 1 then, as when it fails
 */
export async function runProgram(main: () => Promise<unknown>): Promise<never> {
  stopOnSignal(async () => {
    stopping = true
    await stopAll()
    process.exit(130)
  })
  try {
    const isWell = (await main()) !== false
    await stopAll()
    process.exit(isWell ? 0 : 1)
  } catch (error) {
    // What ends because we stop it has not failed.
    if (stopping) return new Promise(() => {})
    console.error(error)
    await stopAll()
    process.exit(1)
  }
}

/** Whether the program was asked to end. */
export function isStopping(): boolean {
  return stopping
}

/** Ends with the program. */
export function stopAtExit<Command extends Running>(command: Command): Command {
  running.push(command)
  return command
}

/** Ends everything, the newest first. */
export async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}

/** Builds the product unless that is done. */
export async function provideBuild(): Promise<void> {
  if (await isBuilt()) return
  console.log("Building the application, which takes a minute")
  const { ok, output } = await build(stopAtExit)
  if (!ok) throw new Error(`The build failed:\n\n${output}`)
}
