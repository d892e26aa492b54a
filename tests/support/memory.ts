import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { imported, type TestServer } from "./server"

const run = promisify(execFile)

/** The id of the listening process, from its startup message: `TestServer.pid` is the shell that guards it. */
export function listeningPid(output: string): number {
  return Number(/^Process (\d+) listens/m.exec(output)?.[1])
}

/** The resident memory of a process in MB, from proc(5), or from `ps` where /proc does not exist. */
export async function rssMbOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => undefined)
  const kilobytes = status
    ? /^VmRSS:\s+(\d+)/m.exec(status)?.[1]
    : (await run("ps", ["-o", "rss=", "-p", `${pid}`])).stdout
  return Number(kilobytes) / 1_024
}

/** A value for NODE_OPTIONS: on SIGUSR2 a process collects its garbage and prints the bytes that are still in use. */
export const printingMemory = imported(
  `import { writeSync } from "node:fs"
   import { setFlagsFromString } from "node:v8"
   import { runInNewContext } from "node:vm"
   setFlagsFromString("--expose-gc")
   const collect = runInNewContext("gc")
   process.on("SIGUSR2", () => {
     collect()
     const { heapUsed, external } = process.memoryUsage()
     writeSync(1, "Holds " + (heapUsed + external) + " bytes\\n")
   })`,
)

/** The memory of the listening process that is in use, in MB. The resident memory depends on when garbage was collected. */
export async function heldMbOf({ output }: TestServer): Promise<number> {
  const printed = () => [...output().matchAll(/^Holds (\d+) bytes$/gm)]
  const before = printed().length
  process.kill(listeningPid(output()), "SIGUSR2")
  while (printed().length === before) await sleep(20)
  return Number(printed().at(-1)?.[1]) / 2 ** 20
}
