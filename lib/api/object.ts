import { z } from "zod"
import type { Owner } from "@/lib/authority/owner"
import { type Endpoint, type Routes, routes } from "./endpoint"
import { objectEnvelope } from "./envelope"
import { parseParameters } from "./query"

/** What all endpoints that return one object of the key's owner have in common. */
export const ownObject = {
  surface: "user",
  permission: undefined,
  scope: "read",
  shape: "object",
  filters: {},
  parameters: {},
  meta: z.object({}),
  recipes: {},
} as const satisfies Partial<Endpoint>

/** One object of the key owner, or `null`. */
export function userObject<Data extends z.ZodType>({
  summary,
  data,
  get,
}: {
  summary: string
  data: Data
  get: (owner: Owner) => Promise<z.input<Data>>
}): Routes {
  return routes({ ...ownObject, method: "GET", summary, data }, async (request, { owner }, withinDeadline) => {
    parseParameters(new URL(request.url).search, ownObject.parameters)
    return objectEnvelope(data.parse(await withinDeadline(() => get(owner))))
  })
}
