import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"

const run = promisify(execFile)

/** The process that listens, by what it said when it began to: it is not the one that guards it. */
export function listeningPid(output: string): number {
  return Number(/^Process (\d+) listens/m.exec(output)?.[1])
}

/** The memory that a process holds at the moment, in MB: of proc(5), or of `ps` where there is none. */
export async function rssMbOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => undefined)
  const kilobytes = status
    ? /^VmRSS:\s+(\d+)/m.exec(status)?.[1]
    : (await run("ps", ["-o", "rss=", "-p", `${pid}`])).stdout
  return Number(kilobytes) / 1_024
}
