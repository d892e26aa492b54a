import { existsSync } from "node:fs"
import { readdir, readFile, rm } from "node:fs/promises"
import { join, relative } from "node:path"
import { expect, test } from "vitest"
import { readImports } from "@/scripts/imports"
import { root } from "@/scripts/root"
import { changedCopy, makeChangedCopy } from "./support/changed-copy"
import { succeeds } from "./support/copy"
import { checkTypes, foldersOf, modules, namesOf, optional } from "./support/optional"
import { isLong } from "./support/sample"

// An optional module is removed by deleting the folders with its name and nothing else.

test("no source or test imports a module from outside the module's own folders, so types hold without it", async () => {
  const imports = await readImports()
  for (const name of modules) {
    const isOfModule = (file: string) => foldersOf(name).some((folder) => file.startsWith(`${folder}/`))
    const intoModule = imports.filter(({ to }) => isOfModule(to))
    expect(intoModule.length, name).toBeGreaterThan(0)
    expect(intoModule.filter(({ from }) => !isOfModule(from))).toEqual([])
  }
})

// No module depends on another, so a copy without all of them also covers the removal of a single one.
test("no page, component or endpoint refers to a module outside the module's own folders", async () => {
  const files = (await Promise.all(["app", "components"].map(filesBelow))).flat()
  const sources = files.filter((file) => !/\.(test|spec)\.tsx?$/.test(file))
  expect(sources.length).toBeGreaterThan(50)
  const named = await Promise.all(
    sources.map(async (file) => {
      const text = await readFile(join(root, file), "utf8")
      const others = optional.filter((name) => !foldersOf(name).some((folder) => file.startsWith(`${folder}/`)))
      return others.filter((name) => namesOf([name]).test(text)).map((name) => `${file} names ${name}`)
    }),
  )
  expect(named.flat()).toEqual([])
})

if (isLong) {
  // All changes that a team may make, at once: the long form runs all tests of such a copy.
  test("in a changed copy, the types and imports hold", {
    timeout: 300_000,
  }, async () => {
    await makeChangedCopy()
    try {
      await checkTypes(changedCopy)
      await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/check-imports.ts"])
      // Of several items none is written if one is refused.
      for (const [items, problem] of [
        [["metered", "other", "form", "of_no_table"], "table first"],
        [["metered", "other", "table", "others", "class:text"], "reserved word"],
        [["metered", "other", "table", "others", "user:text"], "is taken"],
        [["metered", "other", "deletion", "about"], "table first"],
      ] as const)
        await expect(succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/new.ts", ...items])).rejects.toThrow(problem)
      expect(existsSync(join(changedCopy, "app/api/v1/me/other"))).toBe(false)
    } finally {
      await rm(changedCopy, { recursive: true })
    }
  })
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => relative(root, join(parentPath, name)))
}
