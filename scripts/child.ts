import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"

export type Child = {
  process: ChildProcess
  /** The exit code; 128 + n after signal n. */
  exited: Promise<number>
  /** Stops the command, by SIGKILL after ten seconds, and waits until it has exited. */
  stop: () => Promise<void>
}

type Options = {
  /** The signal that stops the command. */
  signal: "INT" | "TERM"
  cwd: string
  env: NodeJS.ProcessEnv
  uid?: number
  gid?: number
}

// Runs the command, and a watcher that signals the command when the pipe on file descriptor 3 closes.
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
 * Runs a command that cannot outlive this process: the pipe closes when `stop` is called, and also when this process
 * crashes or is killed. The command has its own process group, so that Ctrl-C reaches only this process, which stops
 * its commands in order.
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

/** Calls `stop` on the first termination signal, and then exits. */
export function stopOnSignal(stop: () => Promise<void>): void {
  let stopping = false
  function end(): void {
    // npm repeats a signal that the terminal has already sent, so later signals are ignored.
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
  // A SIGTERM to npm does not reach this process: npm sends it to the shell in between, which does not forward it.
  const initial = ancestors()
  if (process.env.npm_lifecycle_event) setInterval(() => ancestors() !== initial && end(), 500).unref()
}

/** The process ids of the parent shell and, on Linux, of npm: field 4 of stat, counted after the process name. */
function ancestors(): string {
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8")
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(")")).split(" ")[2]}`
  } catch {
    return String(process.ppid)
  }
}
