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

/** Read from the route files: deleting a route file removes its endpoint. */
export async function endpoints(): Promise<ServedEndpoint[]> {
  const loading = Object.entries(files).map(async ([file, load]) => {
    const routes = await load()
    const path = `/api/v1/${file.replace(/^\.\//, "").replace(/\/route\.ts$/, "")}`
    const example = await examples[file.replace(/route\.ts$/, "example.json")]?.()
    return { ...routes.GET.endpoint, path, example: example?.default, routes }
  })
  return (await Promise.all(loading)).sort((one, other) => one.path.localeCompare(other.path))
}

/** In the order in which pages show them: `/api/v1/me/run` first. */
export async function meteredEndpoints() {
  const metered = (await endpoints()).flatMap(({ metered, ...endpoint }) => (metered ? [{ ...endpoint, metered }] : []))
  const place = ({ path }: { path: string }) => (path === "/api/v1/me/run" ? 0 : 1)
  return metered.sort((one, other) => place(one) - place(other))
}

export type MeteredEndpoint = Awaited<ReturnType<typeof meteredEndpoints>>[number]

export async function endpointSummaries(): Promise<ReadonlyMap<string, string>> {
  return new Map((await endpoints()).map(({ path, summary }) => [path, summary]))
}
