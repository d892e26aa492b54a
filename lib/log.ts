import { type Logger, pino, stdTimeFunctions } from "pino"
import { env } from "./env"
import { singleton } from "./singleton"

/**
 * The process's log: a line of JSON an event on standard output, with its level and time. What goes into a line is named
 * field by field; bodies, headers and addresses with their query never are.
 */
export function log(): Logger {
  return singleton("log", () =>
    pino({
      level: env().LOG_LEVEL,
      base: { pid: process.pid },
      messageKey: "event",
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    }),
  )
}
