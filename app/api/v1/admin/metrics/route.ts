import type { Routes } from "@/lib/api/endpoint"
import { metrics } from "@/lib/api/metrics"

// A module that is removed takes its measures along. Eager, because an endpoint is complete when its file is loaded; in
// Next's bundles the files are promises, because they wait for an external package.
const files = import.meta.glob<Routes>(["../**/route.ts", "!./route.ts", "!../skill.md/route.ts"], { eager: true })

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = metrics(
  (await Promise.all(Object.values(files))).flatMap(({ GET }) => {
    const { metrics: family, permission } = GET.endpoint
    return family && permission ? [{ family, permission }] : []
  }),
)
