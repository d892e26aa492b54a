import { destination, type Logger, pino, stdTimeFunctions } from "pino"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

/**
 * Lines leave together, a second late at most: a write for each costs a request a third more. No write is longer than
 * what a pipe takes whole, for several processes share it.
 */
const buffered = { sync: false, minLength: 2048, maxWrite: 4096, periodicFlush: 1000 }

/**
 * The process's log: a line of JSON an event on standard output, with its level and time. What goes into a line is named
 * field by field; bodies, headers and addresses with their query never are.
 */
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
            // What went wrong is out before anything else can.
            if (level >= 40) this.flush()
          },
        },
      },
      destination(buffered),
    ),
  )
}
