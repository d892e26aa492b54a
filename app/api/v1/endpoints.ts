import type { Documented } from "@/lib/api/documents/document"
import type { Routes } from "@/lib/api/endpoint"

export type ServedEndpoint = Documented & { routes: Routes }

// Lazy: an eager glob turns modules that import Prisma into promises, and their endpoints would be missing from the documents.
const files = import.meta.glob<Routes>([
  "./admin/**/route.ts",
  "./me/**/route.ts",
  // The skill documents are generated from this table, so they are not in it.
  "!./*/skill.md/route.ts",
])

// examples.test.ts writes and checks them.
const examples = import.meta.glob<{ default: unknown }>(["./admin/**/example.json", "./me/**/example.json"])

/**
 * Read from the route files: deleting a route file removes its endpoint. In the order in which documents and pages show
 * them: metered calls first, `/api/v1/me/run` before all others.
 */
export async function endpoints(): Promise<ServedEndpoint[]> {
  const loading = Object.entries(files).map(async ([file, load]) => {
    const routes = await load()
    const path = `/api/v1/${file.replace(/^\.\//, "").replace(/\/route\.ts$/, "")}`
    const example = await examples[file.replace(/route\.ts$/, "example.json")]?.()
    return { ...routes.GET.endpoint, path, example: example?.default, routes }
  })
  const place = ({ path, metered }: Documented) => (path === "/api/v1/me/run" ? 0 : metered ? 1 : 2)
  return (await Promise.all(loading)).sort(
    (one, other) => place(one) - place(other) || one.path.localeCompare(other.path),
  )
}

export async function meteredEndpoints() {
  return (await endpoints()).flatMap(({ metered, body, ...endpoint }) =>
    metered && body ? [{ ...endpoint, metered, body }] : [],
  )
}

export type MeteredEndpoint = Awaited<ReturnType<typeof meteredEndpoints>>[number]

export async function endpointSummaries(): Promise<ReadonlyMap<string, string>> {
  return new Map((await endpoints()).map(({ path, summary }) => [path, summary]))
}
