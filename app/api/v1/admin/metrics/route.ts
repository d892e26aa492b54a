import type { Routes } from "@/lib/api/endpoint"
import { metrics } from "@/lib/api/metrics"

// Eager, because an endpoint is complete when its file is loaded; the framework gives promises of files that import
// asynchronous packages.
const files = import.meta.glob<Routes>(["../**/route.ts", "!./route.ts", "!../skill.md/route.ts"], { eager: true })
const others = await Promise.all(Object.values(files))

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = metrics(
  others.flatMap(({ GET }) => {
    const { metrics: family, permission } = GET.endpoint
    return family && permission ? [{ family, permission }] : []
  }),
)
