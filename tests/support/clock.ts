import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Given } from "@/scripts/build-and-serve"

/** What makes a process believe that it is another day: Debian's libfaketime, or a Date of its own where there is none. */
export function shiftedClock(days: number): Given {
  const library = findFaketime()
  if (!library) return shiftedDate(days)
  const seconds = days * 86_400
  // Timers go by the other clock, which only ever counts on.
  return { LD_PRELOAD: library, FAKETIME: `${seconds < 0 ? "" : "+"}${seconds}`, FAKETIME_DONT_FAKE_MONOTONIC: "1" }
}

/** Replaces Date alone, by a function with all of Date's own properties: Next copies those and nothing inherited. */
export function shiftedDate(days: number): Given {
  const script = `
    const Real = Date
    const now = () => Real.now() + ${days * 86_400_000}
    function Shifted(...given) {
      if (!new.target) return new Real(now()).toString()
      return Reflect.construct(Real, given.length === 0 ? [now()] : given, new.target)
    }
    globalThis.Date = Object.defineProperties(Shifted, {
      ...Object.getOwnPropertyDescriptors(Real),
      now: { value: now, writable: true, configurable: true },
    })
    Real.prototype.constructor = Shifted`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` }
}

/** In the directory of the machine's architecture. */
export function findFaketime(): string | undefined {
  const directories = existsSync("/usr/lib")
    ? readdirSync("/usr/lib").filter((name) => name.endsWith("-linux-gnu"))
    : []
  return directories.map((name) => join("/usr/lib", name, "faketime/libfaketime.so.1")).find(existsSync)
}
