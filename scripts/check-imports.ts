import packages from "../package.json" with { type: "json" }
import { type Import, readImports } from "./imports"

// Part of `npm run check`: which layer may import which, and that no rooms import each other in a circle. A room is a
// folder directly in app, components, lib or lib/platform; a file there is a room of its own, except in app and components.

const tables = /^lib\/(product|permissions|surfaces|env|singleton|personal-table)$|^lib\/yours\//
const edges = /^lib\/(api|form|process|run-intents)\//

/** Which other layers each layer may import. */
const layers = {
  tables: [],
  platform: ["tables"],
  nouns: ["tables", "platform"],
  edges: ["tables", "platform", "nouns"],
  endpoints: ["tables", "platform", "nouns", "edges"],
  components: ["tables", "platform", "nouns", "edges"],
  app: ["tables", "platform", "nouns", "edges", "endpoints", "components"],
  server: ["tables", "platform", "nouns", "edges", "endpoints"],
  development: [],
} as const satisfies Record<string, readonly string[]>

type Layer = keyof typeof layers

const isTest = (file: string) => /\.(test|spec)\.tsx?$/.test(file)
const isProduct = (file: string) => /^(app|components|lib|server)\//.test(file) && !isTest(file)

/** Undefined for packages and generated code. */
function layerOf(file: string): Layer | undefined {
  const path = file.replace(/\.tsx?$/, "")
  if (tables.test(path)) return "tables"
  if (path.startsWith("lib/platform/")) return "platform"
  if (path.startsWith("lib/")) return edges.test(path) ? "edges" : "nouns"
  if (path.startsWith("app/api/v1/")) return "endpoints"
  const [top] = path.split("/")
  if (top === "app" || top === "components" || top === "server") return top
  return /^(tests|e2e|scripts|bench|prisma)\//.test(path) ? "development" : undefined
}

function roomOf(file: string): string {
  const [top = "", second = "", third = ""] = file.replace(/\.tsx?$/, "").split("/")
  if (file.startsWith("lib/platform/")) return `lib/platform/${third}`
  if (file.startsWith("app/api/v1/")) return "app/api/v1"
  if (top === "lib") return `lib/${second}`
  return (top === "app" || top === "components") && third ? `${top}/${second}` : top
}

/** The problem of an import of product code. */
function problemOf({ from, to, name }: Import): string | undefined {
  const [layer, imported] = [layerOf(from), layerOf(to)]
  const [room, otherRoom] = [roomOf(from), roomOf(to)]
  if (development.some((name) => to === name || to.startsWith(`${name}/`))) return "it is a development package"
  if (/^lib\/payments\/stripe/.test(from) && !/^(stripe|lib\/payments\/(errors|provider|stripe-facts))$/.test(to))
    return "an adapter of payments imports its package and the boundary, so that booking exists once, above it"
  if (layer && imported && imported !== layer && !(layers[layer] as readonly Layer[]).includes(imported))
    return `${layer} may import ${layers[layer].join(", ") || "nothing"}, and not ${imported}`
  if (room.startsWith("app") && otherRoom.startsWith("app/") && room !== otherRoom && !isShared(room, otherRoom))
    return "folders of app share app/_shell, the endpoints and components"
  if (layer === "endpoints" || from.startsWith("lib/api/"))
    if (/^next\/(headers|server|navigation)$/.test(to)) return "an endpoint is a plain function of a Request"
  if (/^(app|components|server)\//.test(from) && layer !== "endpoints" && isDatabase.test(to))
    return "SQL is written in lib and in the rows of endpoints"
  if (imported && (room === otherRoom) === name.startsWith("@/"))
    return room === otherRoom ? "a file of the same room is imported by ./" : "a file of another room is imported by @/"
  return undefined
}

/** Folders with an underscore have no path: the start page's are for the files directly in app. */
function isShared(room: string, other: string): boolean {
  return other === "app/_shell" || other === "app/api/v1" || (room === "app" && other.startsWith("app/_"))
}

const isDatabase = /^(pg|lib\/platform\/postgres\/(pool|prisma))$/

/** Describes an import cycle between rooms, with one import for each step. */
function findCycle(imports: readonly Import[]): string | undefined {
  const steps = new Map<string, Map<string, Import>>()
  for (const step of imports) {
    const [from, to] = [roomOf(step.from), roomOf(step.to)]
    if (from !== to) steps.set(from, (steps.get(from) ?? new Map()).set(to, step))
  }
  const done = new Set<string>()
  const search = (room: string, path: readonly Import[]): readonly Import[] | undefined => {
    const start = path.findIndex(({ from }) => roomOf(from) === room)
    if (start >= 0) return path.slice(start)
    if (done.has(room)) return undefined
    for (const [next, step] of steps.get(room) ?? []) {
      const cycle = search(next, [...path, step])
      if (cycle) return cycle
    }
    done.add(room)
    return undefined
  }
  for (const room of steps.keys()) {
    const cycle = search(room, [])
    if (cycle)
      return `Import cycle between rooms:\n${cycle.map(({ from, to }) => `  ${from} imports ${to}`).join("\n")}`
  }
  return undefined
}

const imports = await readImports()
const development = Object.keys(packages.devDependencies)
const problems = imports.flatMap((given) => {
  const problem = isProduct(given.from) && !given.from.endsWith(".config.ts") ? problemOf(given) : undefined
  return problem ? [`${given.from} imports ${given.name}: ${problem}.`] : []
})
const cycle = findCycle(imports.filter(({ from }) => !isTest(from)))
if (cycle) problems.push(cycle)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
