import { destination, type Logger, pino, stdTimeFunctions } from "pino"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

/**
 * A write per line makes a request a third more expensive. No write is longer than a pipe's atomic one, because several
 * processes share the pipe.
 */
const buffered = { sync: false, minLength: 2048, maxWrite: 4096, periodicFlush: 1000 }

/** Control characters that JSON leaves as they are, and characters that reorder or end a line. */
const unsafe = /[\u007F-\u009F\u2028\u2029\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Callers name every field; bodies, headers and query strings are never logged. */
export function log(): Logger {
  return singleton("log", () =>
    pino(
      {
        level: env().LOG_LEVEL,
        base: { pid: process.pid },
        messageKey: "event",
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
        hooks: {
          logMethod(line, write, level) {
            write.apply(this, line)
            // Warnings and errors are written before the process can crash.
            if (level >= 40) this.flush()
          },
          // In JSON such a character can only be in a string. A terminal would execute it.
          streamWrite: (line) =>
            line.replace(unsafe, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`),
        },
      },
      destination(buffered),
    ),
  )
}
