import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "./root"

/** Runs a program of an npm package; a copy in .data uses the packages of the folder above it. */
export function runProgram(program: string, ...args: readonly string[]): void {
  const file = [root, join(root, "../..")].map((folder) => join(folder, "node_modules", program)).find(existsSync)
  execFileSync(process.execPath, [String(file), ...args], { cwd: root, stdio: "inherit" })
}

export function format(files: readonly string[]): void {
  runProgram("@biomejs/biome/bin/biome", "check", "--write", "--log-level=error", ...files)
}
