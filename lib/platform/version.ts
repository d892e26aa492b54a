import packages from "@/package.json" with { type: "json" }

export const { version } = packages

/** The suffix of 1.2.0-beta.1 does not count. */
export function numbersOf(version: string): string {
  return version.split(/[-+]/, 1)[0] ?? ""
}

export function isOlder(version: string, other: string): boolean {
  return numbersOf(version).localeCompare(numbersOf(other), "en", { numeric: true }) < 0
}
