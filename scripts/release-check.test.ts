import { execFileSync } from "node:child_process"
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { beforeAll, expect, onTestFinished, test } from "vitest"
import { problemsOf, type Release, readRelease } from "./release-check"

// Each test changes a repository in which version 1.2.0 can be released after 1.1.0, or the data read from it.

const original = await mkdtemp(join(tmpdir(), "release-"))
let directory = original
let readable: Release

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

beforeAll(async () => {
  git("init", "--quiet", "--template=")
  await commit({
    ...versioned("1.1.0"),
    ...oldestBuild("1.0.0"),
    ...migration("1_init", "CREATE TABLE orders (id INT);"),
    ...migration("1_added", "ALTER TABLE orders ADD COLUMN size INT;"),
    ...migration("1_empty", "SELECT 1;"),
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
  readable = await readRelease(original)
  return () => rm(original, { recursive: true })
})

/** Lets a test change a copy of the repository. */
async function copyRepository(): Promise<void> {
  directory = await mkdtemp(join(tmpdir(), "release-"))
  await cp(original, directory, { recursive: true })
  onTestFinished(() => rm(directory, { recursive: true }))
}

async function check(): Promise<string[]> {
  return problemsOf(await readRelease(directory))
}

test("a release that only expands has no problems, and neither has the first one", async () => {
  expect(problemsOf(readable)).toEqual([])
  await copyRepository()
  git("tag", "--delete", "v1.0.0", "v1.1.0", "v1.0.10")
  expect(await check()).toEqual([])
})

test("a release is read from its files, as they are committed or not, and from its last tag", async () => {
  await copyRepository()
  await write({ ...versioned("1.3.0"), ...oldestBuild("1.1.0"), "CHANGELOG.md": "# Changelog\n" })
  await write(migration("3_drop", "DROP TABLE orders;"))
  expect(await readRelease(directory)).toEqual({
    packageJson: '{"version":"1.3.0"}',
    lockfile: '{"version":"1.3.0","packages":{"":{"version":"1.3.0"}}}',
    changelog: "# Changelog\n",
    oldestBuild: "1.1.0",
    uncommitted:
      " M CHANGELOG.md\n M package-lock.json\n M package.json\n M prisma/oldest-build.ts\n?? prisma/migrations/3_drop/\n",
    isShallow: false,
    last: {
      version: "1.1.0",
      oldestBuild: "1.0.0",
      migrations: ["1_added", "1_empty", "1_init"],
      changedMigrations: [expect.stringMatching(/^A/)],
    },
    newMigrations: [
      ["2_kind", "ALTER TABLE orders ADD COLUMN kind TEXT;"],
      ["3_drop", "DROP TABLE orders;"],
    ],
  })
})

test.each<[string, Partial<Release>, string]>([
  [
    "a version that is not three numbers",
    { packageJson: JSON.stringify({ version: "1.2.0-beta.1" }) },
    'The version in package.json is "1.2.0-beta.1"',
  ],
  ["no version", { packageJson: "{}" }, 'The version in package.json is ""'],
  [
    "a lockfile with another version",
    { lockfile: JSON.stringify({ version: "1.1.0", packages: { "": { version: "1.2.0" } } }) },
    "package-lock.json does not have version 1.2.0",
  ],
  [
    "a lockfile whose root package has another version",
    { lockfile: JSON.stringify({ version: "1.2.0", packages: { "": { version: "1.1.0" } } }) },
    "package-lock.json does not have version 1.2.0",
  ],
  ["no changelog", { changelog: "" }, 'The first version in CHANGELOG.md is not "## [1.2.0] - YYYY-MM-DD"'],
  ["a changelog without a date", { changelog: changelog("## [1.2.0]") }, 'with its date, but "[1.2.0]".'],
  [
    "a date that does not exist",
    { changelog: changelog("## [1.2.0] - 2026-02-29") },
    'with its date, but "[1.2.0] - 2026-02-29".',
  ],
  [
    "a changelog of the last version",
    { changelog: "# Changelog\n\n## [1.1.0] - 2026-01-01\n\n- Starts.\n" },
    'with its date, but "[1.1.0] - 2026-01-01".',
  ],
  [
    "unreleased changes",
    { changelog: changelog("## [Unreleased]\n\n- Filters.\n\n## [1.2.0] - 2026-02-28") },
    "CHANGELOG.md has unreleased changes",
  ],
  [
    "a version without changes",
    { changelog: "# Changelog\n\n## [1.2.0] - 2026-02-28\n\n## [1.1.0] - 2026-01-01\n\n- Starts.\n" },
    "CHANGELOG.md says nothing about version 1.2.0",
  ],
  ["no oldest build", { oldestBuild: "" }, "prisma/oldest-build.ts has no version."],
  ["an oldest build that refuses the last release", { oldestBuild: "1.2.0" }, "is 1.2.0, which refuses version 1.1.0"],
  ["an oldest build that was lower", { oldestBuild: "0.9.0" }, "is 0.9.0, but was 1.0.0 in the last release."],
  [
    "a new migration before a released one",
    { newMigrations: [["0_early", "SELECT 1;"]] },
    "The migration 0_early is sorted before 1_init",
  ],
  [
    "a migration that takes something away",
    { newMigrations: [["3_drop", "ALTER TABLE orders DROP COLUMN id;"]] },
    "The migration 3_drop drops a column: DROP COLUMN id, which is for a later release that raises the oldest build",
  ],
])("%s is a problem", (_what, changed, problem) => {
  expect(problemsOf({ ...readable, ...changed })).toEqual([expect.stringContaining(problem)])
})

test.each(["1.1.0", "1.0.11"])("version %s after 1.1.0 is a problem", (version) => {
  const packageJson = JSON.stringify({ version })
  const lockfile = JSON.stringify({ version, packages: { "": { version } } })
  const changed = { packageJson, lockfile, changelog: changelog(`## [${version}] - 2026-02-28`) }
  expect(problemsOf({ ...readable, ...changed })).toEqual([
    `Version ${version} in package.json is not higher than 1.1.0, the newest tag.`,
  ])
})

test("the newest tag is the highest version, not the last one of the list", async () => {
  await copyRepository()
  git("tag", "v1.9.0", "v1.1.0")
  git("tag", "v1.10.0", "v1.1.0")
  await commit({ ...versioned("1.9.1"), "CHANGELOG.md": changelog("## [1.9.1] - 2026-02-28") })
  expect(await check()).toEqual(["Version 1.9.1 in package.json is not higher than 1.10.0, the newest tag."])
  await commit({ ...versioned("1.11.0"), "CHANGELOG.md": changelog("## [1.11.0] - 2026-02-28") })
  expect(await check()).toEqual([])
})

test("released migrations that were removed, renamed or changed are problems", async () => {
  await copyRepository()
  git("rm", "--quiet", "prisma/migrations/1_added/migration.sql")
  git("mv", "prisma/migrations/1_empty", "prisma/migrations/3_empty")
  await commit(migration("1_init", "CREATE TABLE orders (id BIGINT);"))
  expect((await check()).sort()).toEqual(
    ["1_added", "1_empty", "1_init"].map(
      (name) => `A migration of version 1.1.0 was changed or removed: prisma/migrations/${name}/migration.sql`,
    ),
  )
})

test("a release that raises the oldest build may take away", () => {
  const drop = ["3_drop", "ALTER TABLE orders DROP COLUMN id;"] as const
  expect(problemsOf({ ...readable, newMigrations: [drop] })).toHaveLength(1)
  expect(problemsOf({ ...readable, oldestBuild: "1.1.0", newMigrations: [drop] })).toEqual([])
})

test("after a release without an oldest build, none may take away", async () => {
  await copyRepository()
  git("rm", "--quiet", "prisma/oldest-build.ts")
  await commit()
  git("tag", "--force", "v1.1.0")
  await commit({ ...oldestBuild("1.1.0"), ...migration("3_drop", "DROP TABLE orders;") })
  expect(await check()).toEqual([expect.stringContaining("The migration 3_drop drops TABLE")])
})

test("files that are not committed are a problem", () => {
  expect(problemsOf({ ...readable, uncommitted: " M CHANGELOG.md\n?? new.txt\n" })).toEqual([
    "Files are not committed:\n M CHANGELOG.md\n?? new.txt",
  ])
})

test("a shallow clone is a problem, because its tags may be missing", async () => {
  directory = await mkdtemp(join(tmpdir(), "release-"))
  onTestFinished(() => rm(directory, { recursive: true }))
  git("clone", "--quiet", "--depth=1", `file://${original}`, ".")
  expect(await check()).toEqual([expect.stringContaining("The clone is shallow")])
})

test("all problems are reported at once", () => {
  const packageJson = JSON.stringify({ version: "1.0.0" })
  const [oldestBuild, uncommitted] = ["0.9.0", "?? new.txt\n"]
  const newMigrations = [["0_early", "DROP TABLE orders;"]] as const
  expect(problemsOf({ ...readable, packageJson, oldestBuild, uncommitted, newMigrations })).toHaveLength(7)
})
