import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { root } from "@/scripts/root"

const run = promisify(execFile)

/** The last build before versions had tags. */
const beforeTags = "f405822a26db204502729f96de7e302b81fb8ea9"

/** The commit of the last release before this one: the nearest tag of a version among the ancestors. */
async function lastRelease(): Promise<string> {
  const git = async (...args: string[]) => (await run("git", args, { cwd: root })).stdout.trim()
  const tag = await git("describe", "--tags", "--abbrev=0", "--match=v[0-9]*", "HEAD^").catch(() => "")
  return git("rev-parse", "--verify", "--quiet", `${tag || beforeTags}^{commit}`).catch(() => {
    throw new Error(
      "This clone lacks the history up to the last release, which test:long -- upgrade builds: git fetch --unshallow --tags",
    )
  })
}

/** Builds the last release in a folder below `.data`, once, and returns the folder. */
export async function buildLastRelease(): Promise<string> {
  const commit = await lastRelease()
  const folder = join(root, ".data", `release-${commit.slice(0, 12)}`)
  const stamp = join(folder, "built")
  if (existsSync(stamp)) return folder
  console.log(`Building the last release, ${commit.slice(0, 12)}, which takes two minutes`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await run("sh", ["-c", 'git archive "$0" | tar -x -C "$1"', commit, folder], { cwd: root })
  const options = { cwd: folder, env: { ...process.env, NODE_ENV: "production" }, maxBuffer: 64 * 1024 ** 2 } as const
  await run("npm", ["ci", "--ignore-scripts", "--include=dev"], options)
  await run("npm", ["run", "build"], options)
  await writeFile(stamp, commit)
  return folder
}
