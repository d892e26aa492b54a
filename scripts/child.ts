import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"

export type Child = {
  process: ChildProcess
  /** Its exit code, 128 + n after signal n. */
  exited: Promise<number>
  /** Ends it, by force after ten seconds, and waits until it is gone. */
  stop: () => Promise<void>
}

type Options = {
  /** What asks the command to end. */
  signal: "INT" | "TERM"
  cwd: string
  env: NodeJS.ProcessEnv
  uid?: number
  gid?: number
}

// The command, and a watcher that ends it as soon as the pipe at file 3 closes.
const guard = `
exec 3<&0
signal=$1; shift
"$@" 3<&- & command=$!
{ cat; kill -s "$signal" "$command"; } <&3 3<&- >/dev/null 2>&1 & watcher=$!
wait "$command"; code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`

/**
 * Runs a command that cannot outlive this process: the pipe closes when we stop it, and also when we crash or are killed.
 * It has its own process group, so that Ctrl-C reaches only us and we choose the order in which things end.
 */
export function startChild(command: string, args: readonly string[], { signal, ...options }: Options): Child {
  const child = spawn("/bin/sh", ["-c", guard, "guard", signal, command, ...args], {
    ...options,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  })
  const exited = new Promise<number>((done) => {
    child.on("error", () => done(127))
    child.on("exit", (code) => {
      child.stdin.destroy()
      done(code ?? 1)
    })
  })
  child.stdin.on("error", () => {})
  async function stop(): Promise<void> {
    child.stdin.destroy()
    const force = setTimeout(() => child.pid && process.kill(-child.pid, "SIGKILL"), 10_000)
    await exited
    clearTimeout(force)
  }
  return { process: child, exited, stop }
}

/** Calls `stop` once when this process is asked to end, and then ends it. */
export function stopOnSignal(stop: () => Promise<void>): void {
  let stopping = false
  function end(): void {
    // npm passes on what the terminal has sent already: a repeated signal is no wish to hurry.
    if (stopping) return
    stopping = true
    stop().then(
      () => process.exit(0),
      (error) => {
        console.error(error)
        process.exit(1)
      },
    )
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end)
  // What ends npm need not reach us: it hands a SIGTERM to the shell between us, which ends without a word.
  const callers = ancestors()
  if (process.env.npm_lifecycle_event) setInterval(() => ancestors() !== callers && end(), 500).unref()
}

/** The shell that npm started us with, and npm itself where the system tells (Linux): field 4 of stat, after the name. */
function ancestors(): string {
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8")
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(")")).split(" ")[2]}`
  } catch {
    return String(process.ppid)
  }
}
