import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { dirname, join as joinPath } from "node:path/posix"
import { root } from "./root"

const folders = ["app", "components", "lib", "server", "prisma", "scripts", "tests", "e2e", "bench"]

/** `name` is as written; `to` is a file of this repository by its path without an extension, or the package's name. */
export type Import = { from: string; to: string; name: string }

/** All imports of the sources, in any form. */
export async function readImports(): Promise<Import[]> {
  const entries = await Promise.all(folders.map((folder) => readdir(join(root, folder), { recursive: true })))
  const files = entries.flatMap((names, index) =>
    names.map((name) => `${folders[index]}/${name.replaceAll("\\", "/")}`),
  )
  const sources = files.filter((file) => /\.tsx?$/.test(file) && !file.includes("node_modules"))
  const imports = await Promise.all(
    sources.map(async (from) => {
      const text = await readFile(join(root, from), "utf8")
      // Imports inside the texts of scripts/new.ts do not start a line.
      const named = text.matchAll(/(?:^(?:(?:import|export)\b.*|\} )from|^import|\bimport\()\s*"([^"]+)"/gm)
      return [...named].map(([, name = ""]) => ({ from, to: resolve(from, name), name }))
    }),
  )
  return imports.flat()
}

function resolve(from: string, name: string): string {
  if (name.startsWith("@/")) return name.slice(2)
  return name.startsWith(".") ? joinPath(dirname(from), name) : name
}
