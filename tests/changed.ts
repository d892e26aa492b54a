import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { build, isBuilt } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { testFiles } from "./files"

type Step = { name: string; run: () => boolean | Promise<boolean> }

/**
 * Runs the quick tests that the uncommitted changes can break: lint and types, the unit tests that import a changed
 * file, the contract if the API changed, and the browser tests that name a changed page.
 */
export async function testChanges(): Promise<never> {
  const changed = changedFiles()
  const failed: string[] = []
  for (const { name, run } of stepsFor(changed)) {
    console.log(`\n=== ${name}\n`)
    if (!(await run())) failed.push(name)
  }
  console.log(`\nLeft out: ${leftOut(changed).join(", ")}. npm test runs them.`)
  console.log(failed.length === 0 ? "Everything else passed." : `Failed: ${failed.join(", ")}.`)
  process.exit(failed.length === 0 ? 0 : 1)
}

function stepsFor(changed: readonly string[]): Step[] {
  const sources = changed.filter((file) => existsSync(join(root, file)))
  const code = sources.filter((file) => /\.(tsx?|mjs|json)$/.test(file))
  const specs = specsOf(changed)
  const steps: Step[] = [
    {
      name: "Format and lint of the changed files",
      run: () =>
        runs("@biomejs/biome/bin/biome", "check", "--error-on-warnings", "--no-errors-on-unmatched", ...sources),
    },
  ]
  if (code.length > 0) {
    const contract = changed.some(isApi) ? [] : ["--exclude=app/api/v1/contract.test.ts"]
    steps.push(
      { name: "Types", run: () => runs("next/dist/bin/next", "typegen") && runs("typescript/bin/tsc", "--noEmit") },
      {
        name: "Unit tests that import a changed file",
        run: () =>
          runs("vitest/vitest.mjs", "related", "--run", "--project=unit*", "--passWithNoTests", ...contract, ...code),
      },
    )
  }
  if (specs.length > 0) {
    steps.push({
      name: "Browser tests that name a changed page",
      run: async () => ((await isBuilt()) || (await builds())) && runs("@playwright/test/cli.js", "test", ...specs),
    })
  }
  return steps
}

/** Uncommitted files, also new and deleted ones. */
function changedFiles(): string[] {
  const status = execFileSync("git", ["status", "--porcelain", "-z", "--no-renames", "-uall"], { cwd: root })
  return String(status)
    .split("\0")
    .map((line) => line.slice(3))
    .filter(Boolean)
}

const isApi = (file: string) => /^(lib|app)\/api\//.test(file)

/** The browser tests that are changed, are in a changed folder or name the path of a changed page. */
function specsOf(changed: readonly string[]): string[] {
  const folders = changed.flatMap((file) => /^(app\/.+)\/[^/]+$/.exec(file)?.[1] ?? [])
  const paths = folders
    .filter((folder) => !isApi(`${folder}/`))
    .map((folder) => folder.slice("app".length).replace(/\/\[.*/, ""))
  return testFiles()
    .filter((file) => file.endsWith(".spec.ts"))
    .filter(
      (file) =>
        changed.includes(file) ||
        folders.some((folder) => file.startsWith(`${folder}/`)) ||
        paths.some((path) => new RegExp(`["\`]${path}[?"\`]`).test(readFileSync(join(root, file), "utf8"))),
    )
}

function leftOut(changed: readonly string[]): string[] {
  const specs = specsOf(changed)
  return [
    "the servers over HTTP",
    specs.length === 0 ? "all browser tests" : `browser tests other than ${specs.join(" ")}`,
    ...(changed.some(isApi) ? [] : ["the contract of the API"]),
    "unit tests that read files without importing them",
  ]
}

/** @returns whether the program of an npm package succeeded */
function runs(program: string, ...args: readonly string[]): boolean {
  const options = { cwd: root, stdio: "inherit" } as const
  return spawnSync(process.execPath, [join(root, "node_modules", program), ...args], options).status === 0
}

async function builds(): Promise<boolean> {
  const { ok, output } = await build()
  if (!ok) console.error(output)
  return ok
}
