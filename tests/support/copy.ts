import { cp, readdir, rm } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import { collect } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { root } from "@/scripts/root"

/**
 * Copies the sources to `.data/<name>` and returns the path. It is inside the project so that packages resolve: the
 * bundler does not follow a symbolic link to node_modules.
 */
export async function copySources(name: string): Promise<string> {
  const copy = join(root, ".data", name)
  // With its own lockfile, the copy would be a separate project without packages.
  const excluded = /^\.|^(node_modules|package-lock\.json|dist|test-results|playwright-report)$/
  await rm(copy, { recursive: true, force: true })
  for (const entry of (await readdir(root)).filter((name) => !excluded.test(name))) {
    const filter = (source: string) => basename(source) !== "node_modules"
    await cp(join(root, entry), join(copy, entry), { recursive: true, filter })
  }
  return copy
}

/** Runs a program of an npm package in a copy and fails with its output if its exit code is not 0. */
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
  return startChild(process.execPath, [resolve(root, "node_modules", program), ...args], {
    signal: "TERM",
    cwd: copy,
    env: { ...process.env, ...environment },
  })
}
