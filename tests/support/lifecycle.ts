import { build, isBuilt } from "@/scripts/build-and-serve"
import { stopOnSignal } from "@/scripts/child"

type Running = { stop: () => Promise<void> }

/** All running commands, in the order of their start; they are stopped in reverse order. */
const running: Running[] = []
let stopping = false

/**
 * Runs a program, stops everything that it started and exits the process.
 * @param main resolves to false if a check failed; the exit code is 1 then, and also if it throws
 */
export async function runProgram(main: () => Promise<unknown>): Promise<never> {
  stopOnSignal(async () => {
    stopping = true
    await stopAll()
    process.exit(130)
  })
  try {
    const ok = (await main()) !== false
    await stopAll()
    process.exit(ok ? 0 : 1)
  } catch (error) {
    // An error of a command that is being stopped is not a failure.
    if (stopping) return new Promise(() => {})
    console.error(error)
    await stopAll()
    process.exit(1)
  }
}

/** Whether the program received a signal to stop. */
export function isStopping(): boolean {
  return stopping
}

/** Registers a command to be stopped when the program exits. */
export function stopAtExit<Command extends Running>(command: Command): Command {
  running.push(command)
  return command
}

/** Stops all registered commands, newest first. */
export async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}

/** Builds the application if the build is not up to date. */
export async function provideBuild(): Promise<void> {
  if (await isBuilt()) return
  console.log("Building the application, which takes a minute")
  const { ok, output } = await build(stopAtExit)
  if (!ok) throw new Error(`The build failed:\n\n${output}`)
}
