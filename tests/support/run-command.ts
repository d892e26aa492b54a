import { type Command, exitCodeOf } from "@/scripts/command-line"

/** Runs a command in this process; scripts/commands.test.ts starts each one as a person does. */
export async function runCommand(command: Command, ...args: string[]) {
  const printed = { log: "", error: "" }
  const print = (to: keyof typeof printed) => (line: string) => {
    printed[to] += `${line}\n`
  }
  const code = await exitCodeOf(command, args, { log: print("log"), error: print("error") })
  return { code, stdout: printed.log, stderr: printed.error }
}
