// A merge driver of git: the text of the release gets this product's slug and version first, so that they do not conflict.
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const version = /("version": |image\.version=)"[^"]+"/

/** A text of the release with this product's slug, and with the version that the product's own file has. */
export function withNames(text, own) {
  const { UPSTREAM_SLUG = "", SLUG = "" } = process.env
  const renamed = text.replaceAll(new RegExp(`\\b${UPSTREAM_SLUG}(?![a-z0-9])`, "g"), SLUG)
  const [line] = version.exec(own) ?? []
  // The lockfile names the version of the product twice, before the versions of packages.
  let places = 2
  return line ? renamed.replaceAll(new RegExp(version, "g"), (found) => (places-- > 0 ? line : found)) : renamed
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [base = "", ours = "", theirs = ""] = process.argv.slice(2)
  const own = readFileSync(ours, "utf8")
  for (const file of [base, theirs]) writeFileSync(file, withNames(readFileSync(file, "utf8"), own))
  try {
    execFileSync("git", ["merge-file", "-L", "yours", "-L", "base", "-L", "the release", ours, base, theirs])
  } catch {
    process.exit(1)
  }
}
