import { copyFileSync, linkSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import { collect } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { root } from "@/scripts/root"

/** Results, and files that tools keep beside the packages. They are not sources. */
const excluded = /^\.(git|next|data|cache|vite.*)$|^(dist|test-results|playwright-report)$/

/** Copies the project to `.data/<name>` and returns the path. Its packages are links to the same files. */
export async function copySources(name: string): Promise<string> {
  const copy = join(root, ".data", name)
  await rm(copy, { recursive: true, force: true })
  copyFolder(root, copy)
  return copy
}

/** Packages take a gigabyte. A bundler follows no symbolic link to their folder. */
function copyFolder(from: string, to: string, isOfPackage = false): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry
    const [source, target] = [join(from, name), join(to, name)]
    if (excluded.test(name) && !(isOfPackage && name === "dist")) continue
    if (entry.isDirectory()) copyFolder(source, target, isOfPackage || name === "node_modules")
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    // Installations write their records again.
    else if (isOfPackage && !name.startsWith(".")) linkSync(source, target)
    else copyFileSync(source, target)
  }
}

/** Runs a program of an npm package, or at an absolute path, in a copy. Throws its output if the exit code is not 0. */
export async function succeeds(
  copy: string,
  program: string,
  args: readonly string[],
  environment = {},
): Promise<void> {
  const command = start(copy, program, args, environment)
  const output = collect(command)
  if ((await command.exited) !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n\n${output()}`)
}

/** Starts a program in a copy: one of an npm package, or an absolute path. */
export function start(
  copy: string,
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
): Child {
  return startChild(process.execPath, [resolve(copy, "node_modules", program), ...args], {
    signal: "TERM",
    cwd: copy,
    env: { ...process.env, ...environment },
  })
}
