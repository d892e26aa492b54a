import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { permits } from "@/lib/api/authenticate"
import {
  type Described,
  describeFamily,
  describeFields,
  describeParameters,
  type JsonSchema,
  jsonSchemaOf,
} from "@/lib/api/documents/document"
import { refuseAs } from "@/lib/api/errors"
import { ours, said } from "@/lib/api/said"
import type { Family, Source } from "@/lib/metrics/family"
import { statsInterval } from "@/lib/metrics/periods"
import type { Permission } from "@/lib/permissions"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { listsOf, offeredFiltersOf, readRows } from "./read-rows"
import { type Session, send } from "./session"
import { datasetOf, queryOf, reading, type Tool, type Tools } from "./tool"

export const adminInstructions = `The read-only data of ${product.name}. query_metrics counts and adds up exactly: use it for every number. read_rows shows single rows. describe_data has the fields and definitions. Amounts are integers in minor units: 105 is $1.05 or ¥105. Never add amounts in different currencies. Times are UTC.`

export const adminTools = (session: Session): Tools => ({
  describe_data: () => describeData(session),
  query_metrics: () => queryMetrics(session),
  read_rows: () =>
    readRows(
      session,
      "Reads single rows, newest first. For numbers use query_metrics; meta.total counts all matching rows.",
    ),
})

function sourcesOf(session: Session): Source[] {
  const { families = [] } = metricsOf(session) ?? {}
  return families.flatMap((source) => permitted(session, source))
}

function metricsOf({ endpoints }: Session): ServedEndpoint | undefined {
  return endpoints.find(({ families }) => families)
}

/** The measures and dimensions that the key may ask for. */
function permitted({ call }: Session, { family, permission }: Source): Source[] {
  const may = (needed?: Permission) =>
    needed === undefined || permits(call.caller, { permission: needed, scope: needed })
  const those = <Row extends { permission?: Permission }>(rows: Readonly<Record<string, Row>>) =>
    Object.fromEntries(Object.entries(rows).filter(([, row]) => may(row.permission)))
  const measures = those(family.measures)
  if (!may(permission) || Object.keys(measures).length === 0) return []
  return [{ permission, family: { ...family, measures, dimensions: those(family.dimensions) } }]
}

function queryMetrics(session: Session): Tool | undefined {
  const endpoint = metricsOf(session)
  const families = sourcesOf(session).map(({ family }) => family)
  if (!endpoint || families.length === 0) return undefined
  const dimensions = [...new Set(families.flatMap((family) => Object.keys(family.dimensions)))]
  const parameters = Object.keys(endpoint.parameters).filter((name) => !Object.hasOwn(endpoint.filters, name))
  const described = (name: string): JsonSchema => {
    const { description, type = "string", enum: values } = jsonSchemaOf(endpoint.parameters[name] ?? never(), "input")
    return { type, ...(values && { enum: values }), ...(description && { description }) }
  }
  const listed = (of: (family: Family) => string) =>
    families.map((family) => `${family.name}: ${of(family)}`).join("; ")
  const listOf = (names: readonly string[]) => ({ type: "array", items: { type: "string", enum: [...names] } })
  const measures = families.flatMap((family) => Object.keys(family.measures))
  return {
    description: "Counts and adds up exactly, from one snapshot. meta.definitions states the meaning of each measure.",
    annotations: reading,
    required: endpoint.required ?? [],
    properties: () => ({
      measure: {
        ...listOf(measures),
        description: `One or more of one family. ${listed(({ measures }) => Object.keys(measures).join(", "))}`,
      },
      by: {
        ...listOf([...statsInterval.options, ...dimensions]),
        description: `Up to 3: day, week or month; and dimensions. ${listed((family) => Object.keys(family.dimensions).join(", "))}`,
      },
      filters: {
        type: "object",
        description: `A dimension and one value. ${valuesOf(families)}; cohort: 2026-01, or month for each`,
      },
      ...Object.fromEntries(["since", "until", "sort", "order"].map((name) => [name, described(name)])),
      limit: { type: "integer", minimum: 1, maximum: 500, default: 100 },
      offset: { type: "integer", minimum: 0 },
    }),
    call: async ({ filters, ...given }) =>
      send(session, endpoint, {
        query: { ...queryOf(given, [...parameters, "filters"]), ...queryOf(filters ?? {}, dimensions, "filter") },
      }),
  }
}

/** The dimensions with few values, and the values. */
function valuesOf(families: readonly Family[]): string {
  const all = families.flatMap(({ name, dimensions }) =>
    Object.entries(dimensions).flatMap(([dimension, { schema }]) => {
      const { enum: values } = jsonSchemaOf(schema, "input")
      return values ? [`${name} ${dimension}: ${values.join("|")}`] : []
    }),
  )
  return all.join("; ")
}

function never(): never {
  throw new Error("A parameter of the endpoint.")
}

function describeData(session: Session): Tool {
  const lists = listsOf(session)
  const names = lists.map(datasetOf)
  return {
    description:
      "The key's scopes and limits, the datasets with their fields, and the measures with their definitions.",
    annotations: reading,
    // Some models refuse tools with an empty enum.
    properties: (): Record<string, JsonSchema> =>
      names.length === 0
        ? {}
        : {
            dataset: {
              type: "string",
              enum: names,
              description: "Describes only this one, with each field and filter",
            },
          },
    call: async (given) => {
      const { dataset } = queryOf(given, ["dataset"])
      const chosen = dataset === undefined ? lists : lists.filter((list) => datasetOf(list) === dataset)
      if (chosen.length === 0 && dataset !== undefined) {
        refuseAs("bad_request", said`dataset must be one of ${ours(names.join(", "))}.`)
      }
      const sources = sourcesOf(session)
      const families =
        dataset === undefined
          ? sources
          : sources.filter(({ family }) => chosen.some(({ metrics }) => metrics?.name === family.name))
      const key = session.endpoints.find(({ path }) => path === kinds.admin.test)
      const { data } = key ? JSON.parse(await send(session, key)) : {}
      return JSON.stringify({
        key: data,
        datasets: chosen.map((list) => describeList(session, list, dataset !== undefined)),
        metrics: families.map(({ family }) => ({ family: family.name, ...linesOf(describeFamily(family)) })),
      })
    },
  }
}

function describeList(session: Session, list: ServedEndpoint, isWhole: boolean) {
  const { data, meta, filters, summary } = list
  const about = { dataset: datasetOf(list), summary }
  if (!isWhole)
    return {
      ...about,
      fields: describeFields(data)
        .map(({ name }) => name)
        .join(", "),
    }
  return {
    ...about,
    fields: linesOf(describeFields(data)),
    meta: linesOf(describeFields(meta)),
    filters: linesOf(describeParameters(filters).filter(({ name }) => offeredFiltersOf(session, list).includes(name))),
  }
}

function linesOf(described: readonly Described[]): Record<string, string> {
  return Object.fromEntries(
    described.map(({ name, type, description, untrusted }) => [
      name,
      `${type}${untrusted ? ", untrusted" : ""}${description ? `: ${description}` : ""}`,
    ]),
  )
}
