import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "@/scripts/root"
import * as yours from "@/tests/yours/reviewed"
import { succeeds } from "./copy"

/** The optional modules: each is removed by deleting its folders. */
export const optional = ["audit", "emails", "feedback", "mcp", "run-intents", "waitlist", ...yours.modules]
export const modules = optional.filter((name) => foldersOf(name).length > 0)

/** The existing folders of a module. */
export function foldersOf(name: string): string[] {
  const folders = [`app/api/v1/admin/${name}`, `app/api/v1/me/${name}`, `app/admin/${name}`, `app/${name}`]
  // Other rooms in lib are also used without the module of that name.
  const rooms = name === "run-intents" ? [`lib/${name}`] : []
  return [...folders, ...rooms].filter((folder) => existsSync(join(root, folder)))
}

/** The paths of the endpoints of a module. */
export function endpointsOf(name: string): string[] {
  return foldersOf(name).flatMap((folder) => (folder.startsWith("app/api/") ? folder.slice("app".length) : []))
}

/** Matches a URL or an import of these modules, except for imports from lib. */
export const namesOf = (names: readonly string[]) => new RegExp(`(?<!/lib)/(${names.join("|")})\\b`)

/** Checks the types of all sources and tests of a copy. */
export async function checkTypes(copy: string): Promise<void> {
  await succeeds(copy, "next/dist/bin/next", ["typegen"])
  await succeeds(copy, "typescript/bin/tsc", ["--noEmit", "--incremental", "false"])
}
