import { z } from "zod"
import type { Owner } from "@/lib/authority/owner"
import { type Call, type Endpoint, type Routes, routes } from "./endpoint"
import { objectEnvelope } from "./envelope"
import { parseParameters } from "./query"

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

export function oneObject<Data extends z.ZodType>({
  get,
  ...row
}: Pick<Endpoint, "surface" | "scope" | "summary"> & {
  data: Data
  get: (call: Call) => Promise<z.input<Data>>
}): Routes {
  return routes({ ...ownObject, ...row, method: "GET" }, async (call) => {
    parseParameters(call.url.search, ownObject.parameters)
    return objectEnvelope(row.data.parse(await get(call)))
  })
}

export function userObject<Data extends z.ZodType>({
  get,
  ...row
}: {
  summary: string
  data: Data
  get: (owner: Owner) => Promise<z.input<Data>>
}): Routes {
  return oneObject({
    ...row,
    surface: "user",
    scope: "read",
    get: ({ caller, withinDeadline }) => withinDeadline(() => get(caller.owner)),
  })
}
