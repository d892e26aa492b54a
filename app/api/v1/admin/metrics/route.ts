import type { Endpoint, Routes } from "@/lib/api/endpoint"
import { metrics } from "@/lib/metrics/endpoint"

// Lazy for the same reason as in endpoints.ts. A module that is removed takes its measures along.
const files = import.meta.glob<Routes>(["../**/route.ts", "!./route.ts", "!../skill.md/route.ts"])

const loaded = await Promise.all(Object.values(files).map(async (load) => (await load()).GET.endpoint as Endpoint))

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = metrics(
  loaded.flatMap(({ metrics: family, permission }) => (family && permission ? { family, permission } : [])),
)
