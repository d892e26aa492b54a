import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "@/scripts/root"
import * as yours from "@/tests/yours/reviewed"
import { succeeds } from "./copy"

/** The optional modules: each is removed by deleting its folders. */
export const optional = ["audit", "billing", "emails", "feedback", "mcp", "run-intents", "waitlist", ...yours.modules]
/** The folders of a module that have another name. */
const others: Readonly<Record<string, readonly string[]>> = {
  billing: ["app/pricing", "app/account/plan", "lib/payments"],
  "run-intents": ["lib/run-intents"],
}

export const modules = optional.filter((name) => foldersOf(name).length > 0)

/** The existing folders of a module. */
export function foldersOf(name: string): string[] {
  const named = ["app/api/v1/admin", "app/api/v1/me", "app/api", "app/admin", "app"].map((place) => `${place}/${name}`)
  return [...named, ...(others[name] ?? [])].filter((folder) => existsSync(join(root, folder)))
}

/** The paths of the endpoints of a module. */
export function endpointsOf(name: string): string[] {
  return foldersOf(name).flatMap((folder) => (folder.startsWith("app/api/v1/") ? folder.slice("app".length) : []))
}

/** Matches a URL or an import of these modules, except for imports from lib. */
export const namesOf = (names: readonly string[]) =>
  new RegExp(`(?<!/lib)/(${names.flatMap(placesOf).join("|")})(?![\\w-])`)

/** Whether a file, a URL or the name of an action in tests/http/access belongs to a module that can be removed. */
export function isOfModule(path: string): boolean {
  return optional.flatMap(placesOf).some((place) => `/${path.replaceAll(" ", "/")}/`.includes(`/${place}/`))
}

function placesOf(name: string): string[] {
  return [name, ...(others[name] ?? []).map((folder) => folder.replace(/^app\//, ""))]
}

/** Checks the types of all sources and tests of a copy. */
export async function checkTypes(copy: string): Promise<void> {
  await succeeds(copy, "next/dist/bin/next", ["typegen"])
  await succeeds(copy, "typescript/bin/tsc", ["--noEmit", "--incremental", "false"])
}
