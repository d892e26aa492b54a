import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { permits } from "@/lib/api/authenticate"
import { refuseAs } from "@/lib/api/errors"
import { isAdminList } from "@/lib/api/lists"
import { sharedParameters } from "@/lib/api/parameters"
import { ours, said } from "@/lib/api/said"
import type { Permission } from "@/lib/permissions"
import { labelCall, type Session, send } from "./session"
import { datasetOf, queryOf, reading, type Tool } from "./tool"

/** A response of more rows would fill the context of a model. */
const limits = { max: 100, default: 20 }

/** Parameters of some lists that are arguments of their own. */
const own = ["q", "sort"]

const pageArguments = Object.keys(sharedParameters).filter((name) => name !== "offset")

export function listsOf({ endpoints }: Session): ServedEndpoint[] {
  return endpoints.filter(({ shape }) => shape === "list")
}

function filtersOf({ filters }: ServedEndpoint): string[] {
  return Object.keys(filters).filter((name) => !own.includes(name))
}

/** Without the ones that the key may not use, whose refusal names the permission. */
export function offeredFiltersOf({ call }: Session, list: ServedEndpoint): string[] {
  const needed = isAdminList(list) ? list.filterPermissions : {}
  const may = (permission: Permission | undefined) => permits(call.caller, { permission, scope: permission })
  return filtersOf(list).filter((name) => may(needed[name]))
}

function argumentsOf({ filters }: ServedEndpoint): string[] {
  return [...pageArguments, ...own.filter((name) => Object.hasOwn(filters, name)), "filters"]
}

export function readRows(session: Session, description: string): Tool | undefined {
  const lists = listsOf(session)
  if (lists.length === 0) return undefined
  const names = lists.map(datasetOf)
  const has = (name: string) => lists.filter(({ filters }) => Object.hasOwn(filters, name)).map(datasetOf)
  const filtersOfAll = () =>
    lists.map((list) => `${datasetOf(list)}: ${offeredFiltersOf(session, list).join(", ") || "none"}`).join("; ")
  const text = (description?: string) => ({ type: "string", ...(description && { description }) })
  return {
    description,
    annotations: reading,
    required: ["dataset"],
    properties: () => ({
      dataset: { type: "string", enum: names },
      filters: { type: "object", description: `Exact values. ${filtersOfAll()}` },
      fields: { type: "array", items: { type: "string" }, description: "Only these fields, and id" },
      since: text("Created at or after: a date, or an ISO 8601 time"),
      until: text("Created at or before; a date includes its whole UTC day"),
      ...(has("q").length > 0 && { q: text(`Searches ${has("q").join(", ")}`) }),
      ...(has("sort").length > 0 && { sort: text(`By default createdAt; others in ${has("sort").join(", ")}`) }),
      order: { type: "string", enum: ["asc", "desc"], description: "By default desc" },
      cursor: text("meta.nextCursor of the page before, with the same other arguments"),
      limit: { type: "integer", minimum: 1, maximum: limits.max, default: limits.default },
    }),
    call: async ({ dataset, filters, ...given }) => {
      const list = lists[names.indexOf(String(dataset))]
      if (!list) return refuseAs("bad_request", said`dataset must be one of ${ours(names.join(", "))}.`)
      labelCall(session, "read_rows", datasetOf(list))
      const query = { limit: String(limits.default), ...queryOf(given, argumentsOf(list)) }
      if (!/^[1-9]\d*$/.test(query.limit) || Number(query.limit) > limits.max) {
        refuseAs("bad_request", said`limit must be an integer from 1 to ${limits.max}.`)
      }
      return send(session, list, { query: { ...query, ...queryOf(filters ?? {}, filtersOf(list), "filter") } })
    },
  }
}
