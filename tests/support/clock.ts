import { existsSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { canInstall, installPackage } from "./apt"
import type { Given } from "./next"

/** What makes a process believe that it is another day: Debian's libfaketime, or a Date of its own where there is none. */
export async function shiftedClock(days: number): Promise<Given> {
  const library = (await findFaketime()) ?? (await installFaketime())
  const seconds = days * 86_400
  // Timers go by the other clock, which only ever counts on.
  if (library)
    return { LD_PRELOAD: library, FAKETIME: `${seconds < 0 ? "" : "+"}${seconds}`, FAKETIME_DONT_FAKE_MONOTONIC: "1" }
  const shifted = `
    const Real = Date, shift = ${seconds * 1_000}
    globalThis.Date = class extends Real {
      constructor(...given) { given.length === 0 ? super(Real.now() + shift) : super(...given) }
      static now() { return Real.now() + shift }
    }`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(shifted)}` }
}

async function installFaketime(): Promise<string | undefined> {
  if (!canInstall()) return undefined
  await installPackage("libfaketime").catch(() => {})
  return findFaketime()
}

/** In the directory of the machine's architecture. */
async function findFaketime(): Promise<string | undefined> {
  const places = (await readdir("/usr/lib").catch(() => [])).filter((name) => name.endsWith("-linux-gnu"))
  return places.map((place) => join("/usr/lib", place, "faketime/libfaketime.so.1")).find((path) => existsSync(path))
}
