import { singleton, singletons } from "@/lib/singleton"
import { log } from "./log"

/** Longer texts are stack traces, or input of a client. */
const maxLength = 1_000

const levels = { stdout: "info", stderr: "warn" } as const

type Stream = keyof typeof levels

type Write = (text: string) => boolean

/** A library's output can quote a client, line breaks included, so it becomes a field of a log entry. */
export function logWhatIsPrinted(): void {
  singleton("printed", () => {
    const originals = { stdout: originalOf("stdout"), stderr: originalOf("stderr") }
    for (const name of ["stdout", "stderr"] as const) {
      process[name].write = (chunk: Uint8Array | string, ...rest: unknown[]) => write(name, chunk, rest)
    }
    // These would be printed without the streams.
    for (const listener of process.listeners("warning")) {
      if (listener.name === "onWarning") process.off("warning", listener)
    }
    process.on("warning", ({ name, message }) => print("stderr", `${name}: ${message}`))
    process.on("uncaughtException", endProcess)
    return originals
  })
}

/** For the operator who starts the server. The line contains no input of a client. */
export function tell(stream: Stream, line: string): void {
  const originals = singletons.printed as Record<Stream, Write> | undefined
  const write = originals?.[stream] ?? originalOf(stream)
  write(`${line}\n`)
}

function originalOf(stream: Stream): Write {
  return process[stream].write.bind(process[stream])
}

function write(name: Stream, chunk: Uint8Array | string, rest: readonly unknown[]): boolean {
  print(name, typeof chunk === "string" ? chunk : Buffer.from(chunk).toString())
  const done = rest.find((value) => typeof value === "function")
  if (done) process.nextTick(done as () => void)
  return true
}

function print(stream: Stream, text: string): void {
  const trimmed = text.trim()
  if (trimmed === "") return
  log()[levels[stream]]({ stream, text: trimmed.slice(0, maxLength) }, "printed")
}

/** Once Next runs, a listener of its own prints the error and lets the process go on. */
function endProcess(error: unknown): void {
  if (process.listenerCount("uncaughtException") > 1) return
  log().fatal({ why: error instanceof Error ? error.stack : String(error) }, "uncaught_exception")
  process.exit(1)
}
