import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

/** The full path of a program that a shell would find. */
export function onPath(...names: readonly string[]): string | undefined {
  const directories = (process.env.PATH ?? "").split(delimiter)
  return names.flatMap((name) => directories.map((directory) => join(directory, name))).find(isExecutable)
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
