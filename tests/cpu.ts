import { readFileSync } from "node:fs"

/** Ticks a second of the times in /proc: USER_HZ, which is 100 on every architecture (proc_pid_stat(5)). */
const ticks = 100

/**
 * Returns a function for the CPU time that ended children of this process and their descendants have used since its last
 * call, or since the process started, in seconds. Undefined where there is no /proc.
 */
export function cpuMeter(): () => number | undefined {
  let before = 0
  return () => {
    const now = secondsOfChildren()
    if (now === undefined) return undefined
    const used = now - before
    before = now
    return used
  }
}

/** Fields 16 and 17 of stat, counted after the process name, which may contain spaces. */
function secondsOfChildren(): number | undefined {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return (Number(fields[13]) + Number(fields[14])) / ticks
  } catch {
    return undefined
  }
}
