import { execFileSync } from "node:child_process"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { beforeEach, expect, test } from "vitest"
import { problemsOf, readRelease } from "./release-check"

// Each test makes one change to a repository in which version 1.2.0 can be released after 1.1.0.

let directory = ""

function git(...args: string[]): void {
  const identity = ["-c", "user.name=Nova", "-c", "user.email=nova@example.com", "-c", "commit.gpgsign=false"]
  execFileSync("git", [...identity, ...args], { cwd: directory, stdio: "pipe" })
}

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true })
    await writeFile(join(directory, name), text)
  }
}

async function commit(files: Readonly<Record<string, string>> = {}): Promise<void> {
  await write(files)
  git("add", "--all")
  git("commit", "--quiet", "--allow-empty", "--message", "Change")
}

function versioned(version: string) {
  return {
    "package.json": JSON.stringify({ version }),
    "package-lock.json": JSON.stringify({ version, packages: { "": { version } } }),
  }
}

const changelog = (heading: string) =>
  `# Changelog\n\n${heading}\n\n- Lists sort.\n\n## [1.1.0] - 2026-01-01\n\n- Starts.\n`
const oldestBuild = (version: string) => ({ "prisma/oldest-build.ts": `export const oldestBuild = "${version}"\n` })
const migration = (name: string, sql: string) => ({ [`prisma/migrations/${name}/migration.sql`]: sql })

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "release-"))
  git("init", "--quiet")
  await commit({
    ...versioned("1.1.0"),
    ...oldestBuild("1.0.0"),
    ...migration("1_init", "CREATE TABLE orders (id INT);"),
    "prisma/migrations/migration_lock.toml": 'provider = "postgresql"\n',
  })
  git("tag", "v1.0.0")
  git("tag", "v1.1.0")
  git("tag", "v1.0.10")
  git("tag", "vnext")
  await commit({
    ...versioned("1.2.0"),
    ...migration("2_kind", "ALTER TABLE orders ADD COLUMN kind TEXT;"),
    "CHANGELOG.md": changelog("## [Unreleased]\n\n## [1.2.0] - 2026-02-28"),
  })
  return () => rm(directory, { recursive: true })
})

async function check(): Promise<string[]> {
  return problemsOf(await readRelease(directory))
}

test("a release that only expands has no problems, and neither has the first one", async () => {
  expect(await check()).toEqual([])
  git("tag", "--delete", "v1.0.0", "v1.1.0", "v1.0.10")
  expect(await check()).toEqual([])
})

test.each<[string, Readonly<Record<string, string>>, string]>([
  ["a version that is not three numbers", versioned("1.2.0-beta.1"), 'The version in package.json is "1.2.0-beta.1"'],
  ["no version", { "package.json": "{}" }, 'The version in package.json is ""'],
  [
    "a lockfile with another version",
    { "package-lock.json": JSON.stringify({ version: "1.1.0", packages: { "": { version: "1.2.0" } } }) },
    "package-lock.json does not have version 1.2.0",
  ],
  [
    "a lockfile whose root package has another version",
    { "package-lock.json": JSON.stringify({ version: "1.2.0", packages: { "": { version: "1.1.0" } } }) },
    "package-lock.json does not have version 1.2.0",
  ],
  ["no changelog", { "CHANGELOG.md": "" }, 'The first version in CHANGELOG.md is not "## [1.2.0] - YYYY-MM-DD"'],
  ["a changelog without a date", { "CHANGELOG.md": changelog("## [1.2.0]") }, 'with its date, but "[1.2.0]".'],
  [
    "a date that does not exist",
    { "CHANGELOG.md": changelog("## [1.2.0] - 2026-02-29") },
    'with its date, but "[1.2.0] - 2026-02-29".',
  ],
  [
    "a changelog of the last version",
    { "CHANGELOG.md": "# Changelog\n\n## [1.1.0] - 2026-01-01\n\n- Starts.\n" },
    'with its date, but "[1.1.0] - 2026-01-01".',
  ],
  [
    "unreleased changes",
    { "CHANGELOG.md": changelog("## [Unreleased]\n\n- Filters.\n\n## [1.2.0] - 2026-02-28") },
    "CHANGELOG.md has unreleased changes",
  ],
  [
    "a version without changes",
    { "CHANGELOG.md": "# Changelog\n\n## [1.2.0] - 2026-02-28\n\n## [1.1.0] - 2026-01-01\n\n- Starts.\n" },
    "CHANGELOG.md says nothing about version 1.2.0",
  ],
  ["no oldest build", { "prisma/oldest-build.ts": "" }, "prisma/oldest-build.ts has no version."],
  ["an oldest build that refuses the last release", oldestBuild("1.2.0"), "is 1.2.0, which refuses version 1.1.0"],
  ["an oldest build that was lower", oldestBuild("0.9.0"), "is 0.9.0, but was 1.0.0 in the last release."],
  [
    "a released migration that was changed",
    migration("1_init", "CREATE TABLE orders (id BIGINT);"),
    "A migration of version 1.1.0 was changed or removed: prisma/migrations/1_init/migration.sql",
  ],
  [
    "a new migration before a released one",
    migration("0_early", "SELECT 1;"),
    "The migration 0_early is sorted before 1_init",
  ],
  [
    "a migration that takes something away",
    migration("3_drop", "ALTER TABLE orders DROP COLUMN id;"),
    "The migration 3_drop drops a column: DROP COLUMN id, which is for a later release that raises the oldest build",
  ],
  [
    "a migration that locks",
    migration("3_index", "CREATE INDEX i ON orders (id);"),
    "The migration 3_index builds an index without CONCURRENTLY",
  ],
])("%s is a problem", async (_what, files, problem) => {
  await commit(files)
  expect(await check()).toEqual([expect.stringContaining(problem)])
})

test.each(["1.1.0", "1.0.11"])("version %s after 1.1.0 is a problem", async (version) => {
  await commit({ ...versioned(version), "CHANGELOG.md": changelog(`## [${version}] - 2026-02-28`) })
  expect(await check()).toEqual([`Version ${version} in package.json is not higher than 1.1.0, the newest tag.`])
})

test("the newest tag is the highest version, not the last one of the list", async () => {
  git("tag", "v1.9.0", "v1.1.0")
  git("tag", "v1.10.0", "v1.1.0")
  await commit({ ...versioned("1.9.1"), "CHANGELOG.md": changelog("## [1.9.1] - 2026-02-28") })
  expect(await check()).toEqual(["Version 1.9.1 in package.json is not higher than 1.10.0, the newest tag."])
  await commit({ ...versioned("1.11.0"), "CHANGELOG.md": changelog("## [1.11.0] - 2026-02-28") })
  expect(await check()).toEqual([])
})

test.each([
  ["removed", ["rm", "--quiet", "prisma/migrations/1_init/migration.sql"]],
  ["renamed", ["mv", "prisma/migrations/1_init", "prisma/migrations/3_init"]],
])("a released migration that was %s is a problem", async (_how, change) => {
  git(...change)
  await commit()
  expect(await check()).toEqual([
    "A migration of version 1.1.0 was changed or removed: prisma/migrations/1_init/migration.sql",
  ])
})

test("a release that raises the oldest build may take away, but not lock", async () => {
  const drop = migration("3_drop", "ALTER TABLE orders DROP COLUMN id; CREATE INDEX i ON orders (id);")
  await commit({ ...oldestBuild("1.1.0"), ...drop })
  expect(await check()).toEqual([expect.stringContaining("builds an index without CONCURRENTLY")])
})

test("after a release without an oldest build, none may take away", async () => {
  git("rm", "--quiet", "prisma/oldest-build.ts")
  await commit()
  git("tag", "--force", "v1.1.0")
  await commit({ ...oldestBuild("1.1.0"), ...migration("3_drop", "DROP TABLE orders;") })
  expect(await check()).toEqual([expect.stringContaining("The migration 3_drop drops TABLE")])
})

test("files that are not committed are a problem, and their migrations are read", async () => {
  await write({ ...migration("3_drop", "DROP TABLE orders;"), "CHANGELOG.md": changelog("## [1.2.0] - 2026-02-27") })
  expect(await check()).toEqual([
    expect.stringContaining("The migration 3_drop drops TABLE"),
    "Files are not committed:\n M CHANGELOG.md\n?? prisma/migrations/3_drop/",
  ])
})

test("a shallow clone is a problem, because its tags may be missing", async () => {
  const whole = directory
  directory = await mkdtemp(join(tmpdir(), "release-"))
  git("clone", "--quiet", "--depth=1", `file://${whole}`, ".")
  expect(await check()).toEqual([expect.stringContaining("The clone is shallow")])
  await rm(directory, { recursive: true })
  directory = whole
})

test("everything that is wrong is said at once", async () => {
  await commit({ ...versioned("1.0.0"), ...oldestBuild("0.9.0"), ...migration("0_early", "DROP TABLE orders;") })
  await write({ "new.txt": "" })
  expect(await check()).toHaveLength(6)
})
