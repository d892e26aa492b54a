import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

/** The full path of the first of these programs that is found on the PATH. */
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
