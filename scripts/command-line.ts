import { fileURLToPath } from "node:url"

type Output = Pick<Console, "log" | "error">

/** Gets its arguments, prints lines and returns its exit code. An error is printed without its stack trace. */
export type Command = (args: readonly string[], output: Output) => Promise<number>

export async function exitCodeOf(command: Command, args: readonly string[], output: Output): Promise<number> {
  try {
    return await command(args, output)
  } catch (error) {
    output.error(messageOf(error))
    return 1
  }
}

/** Runs the command if Node was started with its script, and exits: connections would keep the process running. */
export async function runIfStarted(script: string, command: Command): Promise<void> {
  if (process.argv[1] !== fileURLToPath(script)) return
  process.exit(await exitCodeOf(command, process.argv.slice(2), console))
}

/** After a failed connection to several addresses, the error has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("\n")
  return error instanceof Error ? error.message : String(error)
}
