import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Given } from "@/scripts/build-and-serve"

/** The environment that shifts a process's clock, with Debian's libfaketime if installed, or else by replacing Date. */
export function shiftedClock(days: number): Given {
  const library = findFaketime()
  if (!library) return shiftedDate(days)
  const seconds = days * 86_400
  // The monotonic clock, which timers use, is not shifted.
  return { LD_PRELOAD: library, FAKETIME: `${seconds < 0 ? "" : "+"}${seconds}`, FAKETIME_DONT_FAKE_MONOTONIC: "1" }
}

/** Replaces only Date, with a function that has all own properties of Date: Next copies own but not inherited ones. */
export function shiftedDate(days: number): Given {
  const script = `
    const Real = Date
    const now = () => Real.now() + ${days * 86_400_000}
    function Shifted(...args) {
      if (!new.target) return new Real(now()).toString()
      return Reflect.construct(Real, args.length === 0 ? [now()] : args, new.target)
    }
    globalThis.Date = Object.defineProperties(Shifted, {
      ...Object.getOwnPropertyDescriptors(Real),
      now: { value: now, writable: true, configurable: true },
    })
    Real.prototype.constructor = Shifted`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` }
}

/** The path of libfaketime, in the library directory of the machine's architecture. */
export function findFaketime(): string | undefined {
  const directories = existsSync("/usr/lib")
    ? readdirSync("/usr/lib").filter((name) => name.endsWith("-linux-gnu"))
    : []
  return directories.map((name) => join("/usr/lib", name, "faketime/libfaketime.so.1")).find(existsSync)
}
