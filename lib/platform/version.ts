import { version } from "@/package.json"

export { version }

/** The three numbers of a version. What follows them, as in 1.2.0-beta.1, does not count. */
export function numbersOf(version: string): string {
  return version.split(/[-+]/, 1)[0] ?? ""
}

/** Whether the numbers of a version are lower than those of the other one. */
export function isOlder(version: string, other: string): boolean {
  return numbersOf(version).localeCompare(numbersOf(other), "en", { numeric: true }) < 0
}
