import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { isOlder } from "@/lib/platform/version"
import { findingsIn, type Migrations } from "./migration-rules"
import { root } from "./root"

const migrationsFolder = "prisma/migrations/"
const oldestBuildFile = "prisma/oldest-build.ts"

/** The contents of a release: the files as they are, and the state that git reports. */
export type Release = {
  packageJson: string
  lockfile: string
  changelog: string
  oldestBuild: string
  /** Files that are changed and not committed, and untracked files, as `git status --porcelain` lists them. */
  uncommitted: string
  isShallow: boolean
  /** The newest tag of a version, without its "v". */
  last?: {
    version: string
    oldestBuild: string
    migrations: readonly string[]
    /** Lines of `git diff --name-status` from the tag to the files as they are. */
    changedMigrations: readonly string[]
  }
  newMigrations: Migrations
}

/** Reads the repository in `directory`. */
export async function readRelease(directory: string): Promise<Release> {
  const run = promisify(execFile)
  const git = async (...args: string[]) =>
    (await run("git", args, { cwd: directory, maxBuffer: 64 * 1024 ** 2 })).stdout
  const read = (file: string) => readFile(join(directory, file), "utf8").catch(() => "")
  const lines = (text: string) => text.split("\n").filter(Boolean)

  const tags = lines(await git("tag", "--list", "v*")).filter((tag) => isVersion(tag.slice(1)))
  const tag = tags.reduce<string | undefined>(
    (newest, tag) => (newest && !isOlder(newest.slice(1), tag.slice(1)) ? newest : tag),
    undefined,
  )
  const names = lines(await git("ls-files", "--cached", "--others", "--exclude-standard", migrationsFolder))
  const released = tag ? lines(await git("ls-tree", "-r", "--name-only", tag, migrationsFolder)) : []
  const added = names.filter((name) => name.endsWith(".sql") && !released.includes(name)).sort()
  return {
    packageJson: await read("package.json"),
    lockfile: await read("package-lock.json"),
    changelog: await read("CHANGELOG.md"),
    oldestBuild: oldestBuildIn(await read(oldestBuildFile)),
    uncommitted: await git("status", "--porcelain"),
    isShallow: (await git("rev-parse", "--is-shallow-repository")).trim() === "true",
    ...(tag && {
      last: {
        version: tag.slice(1),
        oldestBuild: oldestBuildIn(await git("show", `${tag}:${oldestBuildFile}`).catch(() => "")),
        migrations: released.filter((name) => name.endsWith(".sql")).map(nameOf),
        changedMigrations: lines(await git("diff", "--name-status", tag, "--", migrationsFolder)),
      },
    }),
    newMigrations: await Promise.all(added.map(async (name) => [nameOf(name), await read(name)] as const)),
  }
}

/** Everything that must change before the release. */
export function problemsOf(release: Release): string[] {
  const version = fieldOf(release.packageJson, "version")
  if (!isVersion(version))
    return [`The version in package.json is "${version}": three numbers, such as 1.2.0, are needed.`]
  return [
    ...versionProblems(version, release),
    ...changelogProblems(version, release.changelog),
    ...migrationProblems(release),
    ...(release.uncommitted ? [`Files are not committed:\n${release.uncommitted.trimEnd()}`] : []),
    ...(release.isShallow ? ["The clone is shallow, so tags may be missing: git fetch --unshallow --tags"] : []),
  ]
}

function versionProblems(version: string, { lockfile, oldestBuild, last }: Release): string[] {
  const problems: string[] = []
  if (last && !isOlder(last.version, version)) {
    problems.push(`Version ${version} in package.json is not higher than ${last.version}, the newest tag.`)
  }
  const locked = [fieldOf(lockfile, "version"), fieldOf(lockfile, "packages", "", "version")]
  if (locked.some((other) => other !== version)) {
    problems.push(
      `package-lock.json does not have version ${version}: npm install --package-lock-only --ignore-scripts`,
    )
  }
  if (!isVersion(oldestBuild)) problems.push(`${oldestBuildFile} has no version.`)
  else if (isOlder(last?.version ?? version, oldestBuild)) {
    const kept = last
      ? `version ${last.version}, the last release, which runs during the upgrade`
      : `version ${version}`
    problems.push(`The oldest build in ${oldestBuildFile} is ${oldestBuild}, which refuses ${kept}.`)
  } else if (last && isOlder(oldestBuild, last.oldestBuild)) {
    problems.push(
      `The oldest build in ${oldestBuildFile} is ${oldestBuild}, but was ${last.oldestBuild} in the last release.`,
    )
  }
  return problems
}

/** The format of keepachangelog.com. */
function changelogProblems(version: string, changelog: string): string[] {
  const [, ...sections] = changelog.split(/^## /m)
  const [first = ""] = sections
  const hasUnreleased = first.startsWith("[Unreleased]")
  const problems: string[] = []
  if (hasUnreleased && first.slice("[Unreleased]".length).trim() !== "") {
    problems.push("CHANGELOG.md has unreleased changes: move them below the heading of the version.")
  }
  const [heading = ""] = ((hasUnreleased ? sections[1] : first) ?? "").split("\n", 1)
  const [, headed, date = ""] = /^\[(.+)\] - (\S+)$/.exec(heading) ?? []
  if (headed !== version || !isDate(date)) {
    problems.push(
      `The first version in CHANGELOG.md is not "## [${version}] - YYYY-MM-DD", with its date, but "${heading}".`,
    )
  } else if (((hasUnreleased ? sections[1] : first) ?? "").slice(heading.length).trim() === "") {
    problems.push(`CHANGELOG.md says nothing about version ${version}.`)
  }
  return problems
}

function migrationProblems({ last, newMigrations, oldestBuild }: Release): string[] {
  // The first release has no servers to keep running.
  if (!last) return []
  const changed = last.changedMigrations
    .filter((line) => !line.startsWith("A"))
    .map((line) => `A migration of version ${last.version} was changed or removed: ${line.split("\t")[1]}`)
  const newest = [...last.migrations].sort().at(-1) ?? ""
  const early = newMigrations
    .filter(([name]) => name < newest)
    .map(
      ([name]) =>
        `The migration ${name} is sorted before ${newest}, which version ${last.version} has: give it a later time.`,
    )
  const mayTakeAway = isVersion(last.oldestBuild) && isOlder(last.oldestBuild, oldestBuild)
  const findings = (mayTakeAway ? [] : findingsIn(newMigrations)).map(
    ({ migration, problem }) =>
      `The migration ${migration} ${problem}, which is for a later release that raises the oldest build in ${oldestBuildFile}`,
  )
  return [...changed, ...early, ...findings]
}

function isVersion(text: string): boolean {
  return /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text)
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00Z`)
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

function oldestBuildIn(source: string): string {
  return /\boldestBuild = "(.*)"/.exec(source)?.[1] ?? ""
}

function nameOf(file: string): string {
  return file.slice(migrationsFolder.length).replace(/\/migration\.sql$/, "")
}

/** A text in a JSON document; empty if it has none there. */
function fieldOf(json: string, ...path: string[]): string {
  try {
    const value = path.reduce((object, field) => object?.[field], JSON.parse(json))
    return typeof value === "string" ? value : ""
  } catch {
    return ""
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const release = await readRelease(root)
  const problems = problemsOf(release)
  for (const problem of problems) console.error(`✗ ${problem}`)
  const version = fieldOf(release.packageJson, "version")
  if (problems.length === 0) console.log(`Version ${version} can be released: git tag v${version}`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
