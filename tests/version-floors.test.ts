import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { root } from "@/scripts/root"

// Earlier versions have published vulnerabilities that compromise the server or its sessions.
const floors = {
  next: "16.4.6",
  "next-auth": "4.24.15",
  react: "19.2.6",
  "react-dom": "19.2.6",
} as const

type Lock = {
  packages: Record<string, { version?: string; integrity?: string; link?: boolean; resolved?: string }>
}

function isAtLeast(version: string, floor: string): boolean {
  // A prerelease of the floor, such as 16.4.6-canary.1, is below it.
  if (version.startsWith(`${floor}-`)) return false
  return version.localeCompare(floor, "en", { numeric: true }) >= 0
}

test.each(Object.entries(floors))("every installed %s is %s or later", async (name, floor) => {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as Lock
  const copies = Object.entries(lock.packages).filter(([path]) => path.endsWith(`node_modules/${name}`))
  expect(copies.length).toBeGreaterThan(0)
  for (const [path, { version = "" }] of copies)
    expect([path, version, isAtLeast(version, floor)]).toEqual([path, version, true])
})

test("every locked package has the hash of its content", async () => {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as Lock
  const workspaces = Object.values(packages).flatMap(({ link, resolved }) => (link && resolved ? [resolved] : []))
  const unhashed = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path !== "" && !link && !workspaces.includes(path) && !integrity,
  )
  expect(unhashed.map(([path]) => path)).toEqual([])
})

test("versions are compared number by number", () => {
  expect(isAtLeast("16.10.0", "16.4.6")).toBe(true)
  expect(isAtLeast("9.99.99", "16.4.6")).toBe(false)
  expect(isAtLeast("16.4.5", "16.4.6")).toBe(false)
  expect(isAtLeast("16.4.6-canary.1", "16.4.6")).toBe(false)
})
