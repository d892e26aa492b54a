import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { product } from "@/lib/product"
import { copySources, succeeds } from "./support/copy"
import { foldersOf, modules } from "./support/optional"

// docs/forks.md: a product with another name, without a module and with its own table merges a release that changes a
// file of each usual kind.

test("a release merges into a changed product without a conflict, and keeps its name, its texts and its removed modules", async () => {
  const copy = await copySources("upstream")
  const read = (file: string) => readFileSync(join(copy, file), "utf8")
  const git = (...args: string[]) => execFileSync("git", args, { cwd: copy, encoding: "utf8" })
  const commit = (subject: string) => {
    git("add", "--all")
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", subject)
  }
  async function change(file: string, pattern: RegExp | string, replacement: string): Promise<void> {
    const text = read(file)
    expect(text).toMatch(pattern)
    await writeFile(join(copy, file), text.replace(pattern, replacement))
  }
  async function add(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(copy, file)), { recursive: true })
    await writeFile(join(copy, file), text)
  }
  try {
    await writeFile(join(copy, ".gitignore"), "node_modules\n.data\n.next\ngenerated\n")
    git("init", "--quiet", "--initial-branch=release")
    commit("Base")
    git("checkout", "--quiet", "-b", "yours")
    await succeeds(copy, "tsx/dist/cli.mjs", ["scripts/rename.ts", "qzxwv", "Qzxwv Works"])
    const [removed = expect.fail("There is no optional module.")] = modules
    for (const folder of foldersOf(removed)) await rm(join(copy, folder), { recursive: true })
    await succeeds(copy, "tsx/dist/cli.mjs", ["scripts/new.ts", "table", "captions"], { WITHOUT_EXAMPLES: "1" })
    await change("README.md", /^# .*$/m, "# Ours")
    commit("Yours")

    git("checkout", "--quiet", "release")
    await add("app/api/v1/admin/refunds/route.ts", "// An endpoint.\n")
    await add("prisma/migrations/99990101000000_seen/migration.sql", 'ALTER TABLE "users" ADD "seen" DATE;\n')
    await add(`${foldersOf(removed)[0]}/more.ts`, "// A new file of a module.\n")
    await add("docs/news.md", `${product.slug}_new_total\n`)
    await change("prisma/schema.prisma", /\n\n {2}@@index\(\[createdAt/, "\n  seen DateTime? @db.Date$&")
    await change("lib/permissions.ts", "permissions = {\n", '$&  "refunds.read": "Read refunds",\n')
    await change("lib/product.ts", "export const monthsPaidPerYear", 'export const statusPage = "x"\n\n$&')
    await change("package.json", /("version": ").*"/, '$199.0.0"')
    await change("package.json", /("zod": ").*"/, '$199.0.0"')
    await change("package-lock.json", /("version": ")[^"]*("[\s\S]*?"version": ")[^"]*"/, '$199.0.0$299.0.0"')
    await change("README.md", /^# .*$/m, "# Theirs")
    await change("ops/alerts.yaml", "groups:\n", `# ${product.slug}_new_total\n$&`)
    commit("Release")

    git("checkout", "--quiet", "yours")
    await succeeds(copy, "tsx/dist/cli.mjs", ["scripts/upstream.ts", "release"])
    expect(git("diff", "--name-only", "--diff-filter=U")).toBe("")
    for (const file of ["docs/news.md", "ops/alerts.yaml"]) expect(read(file)).toContain("qzxwv_new_total")
    expect(foldersOf(removed).filter((folder) => existsSync(join(copy, folder)))).toEqual([])
    expect(read("README.md")).toMatch(/^# Ours$/m)
    expect(JSON.parse(read("package.json"))).toMatchObject({ name: "qzxwv", dependencies: { zod: "99.0.0" } })
    for (const file of ["package.json", "package-lock.json"]) expect(read(file)).not.toContain('"version": "99.0.0"')
    expect(read("lib/product.ts")).toMatch(/slug: "qzxwv"[\s\S]*statusPage/)
    expect(read("prisma/schema.prisma")).toMatch(/captions +Caption\[\][\s\S]*seen DateTime/)
    expect(existsSync(join(copy, "app/api/v1/admin/refunds/route.ts"))).toBe(true)
  } finally {
    await rm(copy, { recursive: true })
  }
})
