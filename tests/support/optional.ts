import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "@/scripts/root"
import * as yours from "@/tests/yours/reviewed"
import { succeeds } from "./copy"

/** The optional modules: each is removed by deleting its folders. */
export const optional = ["audit", "emails", "feedback", "waitlist", ...yours.modules]
export const modules = optional.filter((name) => foldersOf(name).length > 0)

/** The existing folders of a module. */
export function foldersOf(name: string): string[] {
  return [`app/api/v1/admin/${name}`, `app/admin/${name}`, `app/${name}`].filter((folder) =>
    existsSync(join(root, folder)),
  )
}

/** Matches a URL or an import of these modules, except for imports from lib. */
export const namesOf = (names: readonly string[]) => new RegExp(`(?<!/lib)/(${names.join("|")})\\b`)

/** Checks the types of all sources and tests of a copy. */
export async function checkTypes(copy: string): Promise<void> {
  await succeeds(copy, "next/dist/bin/next", ["typegen"])
  await succeeds(copy, "typescript/bin/tsc", ["--noEmit", "--incremental", "false"])
}
