import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { product } from "@/lib/product"
import { withNames } from "./merge-renamed.mjs"
import { root } from "./root"

// Merges a release of the product that yours started from: docs/forks.md.

const usage = "npm run upstream -- REF    a tag, branch or commit, such as v0.3.0"

const { positionals } = parseArgs({ allowPositionals: true })
const [ref = fail("Name the release to merge.")] = positionals
if (git("status", "--porcelain").output !== "") fail("Commit your changes first.")
const theirs = git("show", `${ref}:lib/product.ts`)
if (!theirs.ok) fail(`git does not find ${ref}: git fetch upstream --tags`)
const [, slug = ""] = /^ {2}slug: "(.*)",$/m.exec(theirs.output) ?? []
const base = git("merge-base", "HEAD", ref).output.trim()
const deleted = foldersOf(base).filter((folder) => !foldersOf("HEAD").includes(folder))

Object.assign(process.env, { UPSTREAM_SLUG: slug, SLUG: product.slug })
const settings = [
  "merge.renamed.driver=node scripts/merge-renamed.mjs %O %A %B",
  // A new file of a module that you deleted must not move to another folder.
  "merge.directoryRenames=false",
]
const merge = git(...settings.flatMap((setting) => ["-c", setting]), "merge", "--no-ff", "--no-commit", ref)
if (!git("rev-parse", "--verify", "--quiet", "MERGE_HEAD").ok) {
  process.stdout.write(merge.output)
  process.exit(merge.ok ? 0 : 1)
}

// A change in a module that you deleted is a conflict for git, and a new file would bring the module back.
if (deleted.length > 0) git("rm", "-r", "-f", "--quiet", "--ignore-unmatch", ...deleted)

// Your texts, versions and pictures, and examples of your data.
const changedBy = (kind: string) => git("diff", "--name-only", `--diff-filter=${kind}`, base, ref).output.split("\n")
const yours = changedBy("M").filter((file) =>
  /^(README|CHANGELOG)\.md$|oldest-build\.ts$|\/example\.json$|\.webp$/.test(file),
)
for (const file of yours) git("checkout", "HEAD", "--", file)

// The driver of merges sees only files that both changed.
const named = changedBy("AM").filter((file) => !yours.includes(file) && /\.md$|^ops\/|^Dockerfile$/.test(file))
for (const file of named.filter((file) => existsSync(join(root, file)))) {
  const text = readFileSync(join(root, file), "utf8")
  const own = withNames(text, git("show", `HEAD:${file}`).output)
  writeFileSync(join(root, file), own)
  if (!/^<{7} /m.test(own)) git("add", file)
}

const conflicts = git("diff", "--name-only", "--diff-filter=U").output.trim()
console.log(conflicts ? `\nConflicts, which docs/forks.md explains:\n${conflicts}` : "\nNo conflicts.")
console.log("\nThen: npm run check, npm run api:examples, npm test, git commit. docs/forks.md explains each.")
process.exit(0)

/** The folders of pages, endpoints and rooms, which modules consist of. */
function foldersOf(commit: string): string[] {
  const parents = ["app/", "app/admin/", "app/api/v1/admin/", "app/api/v1/me/", "lib/"]
  return git("ls-tree", "-d", "--name-only", commit, ...parents)
    .output.split("\n")
    .filter(Boolean)
}

function git(...args: string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" })
  return { ok: status === 0, output: stdout + (status === 0 ? "" : stderr) }
}

function fail(problem: string): never {
  console.error(`${problem}\n\n${usage}`)
  process.exit(1)
}
