import packages from "../package.json" with { type: "json" }
import { type Import, readImports } from "./imports"

// Part of `npm run check`, for what the linter cannot check: import cycles between folders, and imports of development
// packages by product code.

const deployed = /^(app|components|lib|server)\//
const tests = /\.(test|spec)\.tsx?$/

/** A file directly in lib counts as its own folder. */
function folderOf(file: string): string {
  const [top = "", second = "", ...rest] = file.replace(/\.tsx?$/, "").split("/")
  return top === "lib" || (top === "components" && rest.length > 0) ? `${top}/${second}` : top
}

/** Describes an import cycle between folders, with one import for each step. */
function findCycle(imports: readonly Import[]): string | undefined {
  const steps = new Map<string, Map<string, Import>>()
  for (const step of imports) {
    const [from, to] = [folderOf(step.from), folderOf(step.to)]
    if (from !== to) steps.set(from, (steps.get(from) ?? new Map()).set(to, step))
  }
  const done = new Set<string>()
  const search = (folder: string, path: readonly Import[]): readonly Import[] | undefined => {
    const start = path.findIndex(({ from }) => folderOf(from) === folder)
    if (start >= 0) return path.slice(start)
    if (done.has(folder)) return undefined
    for (const [next, step] of steps.get(folder) ?? []) {
      const cycle = search(next, [...path, step])
      if (cycle) return cycle
    }
    done.add(folder)
    return undefined
  }
  for (const folder of steps.keys()) {
    const cycle = search(folder, [])
    if (cycle)
      return `Import cycle between folders:\n${cycle.map(({ from, to }) => `  ${from} imports ${to}`).join("\n")}`
  }
  return undefined
}

const imports = await readImports()
const development = Object.keys(packages.devDependencies)
const missing = imports.filter(
  ({ from, to }) =>
    deployed.test(from) &&
    !tests.test(from) &&
    !from.endsWith(".config.ts") &&
    development.some((name) => to === name || to.startsWith(`${name}/`)),
)
const problems = missing.map(({ from, to }) => `${from} imports ${to}, which is a development package.`)
const cycle = findCycle(imports.filter(({ from }) => !tests.test(from)))
if (cycle) problems.push(cycle)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
