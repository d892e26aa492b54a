import type { Documented } from "@/lib/api/document"
import type { Routes } from "@/lib/api/endpoint"

export type ServedEndpoint = Documented & { routes: Routes }

// Lazy: an eager glob would turn modules that import Prisma into promises, and they would vanish from the documents.
const files = import.meta.glob<Routes>([
  "./admin/**/route.ts",
  "./me/**/route.ts",
  // The documents are computed from this table and are no part of it.
  "!./*/skill.md/route.ts",
])

// Beside each route file, what the documents show as its answer; examples.test.ts writes and checks it.
const examples = import.meta.glob<{ default: unknown }>(["./admin/**/example.json", "./me/**/example.json"])

/** Every endpoint of both surfaces, read from the route files; a file that is deleted is an endpoint that is gone. */
export async function endpoints(): Promise<ServedEndpoint[]> {
  const served = Object.entries(files).map(async ([file, load]) => {
    const routes = await load()
    const path = `/api/v1/${file.replace(/^\.\//, "").replace(/\/route\.ts$/, "")}`
    const example = await examples[file.replace(/route\.ts$/, "example.json")]?.()
    return { ...routes.GET.endpoint, path, example: example?.default, routes }
  })
  return (await Promise.all(served)).sort((one, other) => one.path.localeCompare(other.path))
}
