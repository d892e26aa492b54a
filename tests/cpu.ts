import { readdirSync, readFileSync } from "node:fs"

/** Ticks a second of the times in /proc: USER_HZ, which is 100 on every architecture (proc_pid_stat(5)). */
const ticks = 100
const interval = 250

type Usage = { name: string; seconds: number }
type Stat = { pid: number; parent: number; seconds: number; secondsOfChildren: number; started: string }

/**
 * Measures the CPU time of processes and their descendants by name. It reads /proc four times a second: a browser does
 * not wait for its processes, so their times are missing from its children's times.
 */
export function startCpuMeter() {
  const names = new Map<number, string>()
  const usages = new Map<string, Usage>()

  function read(): void {
    const stats = new Map(statsOfProcesses().map((stat) => [stat.pid, stat]))
    for (const stat of stats.values()) usageOf(stat, stats)
  }

  /** Undefined for a process that none of the named ones has started. */
  function usageOf(stat: Stat, stats: ReadonlyMap<number, Stat>): Usage | undefined {
    const key = `${stat.pid} ${stat.started}`
    const parent = stats.get(stat.parent)
    const name = usages.get(key)?.name ?? names.get(stat.pid) ?? (parent && usageOf(parent, stats)?.name)
    if (name === undefined) return undefined
    const usage = { name, seconds: stat.seconds }
    usages.set(key, usage)
    return usage
  }

  const timer = setInterval(read, interval)
  timer.unref()
  return {
    /** Counts the process and its descendants for the name. */
    count(pid: number, name: string): void {
      names.set(pid, name)
    },
    /** CPU seconds so far; 0 where there is no /proc. */
    secondsOf(name: string): number {
      const own = [...usages.values()].filter((usage) => usage.name === name)
      return own.reduce((total, { seconds }) => total + seconds, 0)
    },
  }
}

/** CPU seconds of the children that have ended and of their descendants; 0 where there is no /proc. */
export function secondsOfEndedChildren(): number {
  return statOf(process.pid)?.secondsOfChildren ?? 0
}

function statsOfProcesses(): Stat[] {
  return directory("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => statOf(Number(pid)) ?? [])
}

function directory(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** Undefined if the process has ended. Fields are counted after the process name, which may contain spaces. */
function statOf(pid: number): Stat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const seconds = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / ticks
    return {
      pid,
      parent: Number(fields[1]),
      seconds: seconds(11),
      secondsOfChildren: seconds(13),
      started: fields[19] ?? "",
    }
  } catch {
    return undefined
  }
}
