import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { root } from "@/scripts/root"

/** Installs a version of Node from npm, the newest of a major one, and returns the path of its binary. */
export async function provideNode(version: number | string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const directory = join(root, `.data/node-${version}`)
  const path = join(directory, "node_modules", name, "bin/node")
  if (!existsSync(path)) {
    const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", directory]
    await promisify(execFile)("npm", ["install", ...options, `${name}@${version}`])
  }
  return path
}
