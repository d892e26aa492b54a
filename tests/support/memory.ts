import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"

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
