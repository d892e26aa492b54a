import { z } from "zod"
import { accountDimension, currencyDimension, type Dimension, type Source } from "@/lib/metrics/family"
import { currency, id, minorUnits, timestamp } from "@/lib/platform/schemas/fields"
import { keyVariable, product } from "@/lib/product"
import { kinds, type Surface } from "@/lib/surfaces"
import { type ErrorCode, errors } from "../errors"
import { sharedParameters } from "../parameters"
import {
  conventions,
  type Described,
  type Documented,
  describeBody,
  describeFields,
  describeMeasure,
  describeParameters,
  errorCodes,
  exampleBody,
} from "./document"

/** @param more further sentences for its introduction */
export function skillDocument(
  surface: Surface,
  endpoints: readonly Documented[],
  baseUrl: string,
  more: readonly string[],
): string {
  const recipes: Record<string, string> = Object.assign({}, ...endpoints.map(({ recipes }) => recipes))
  const metrics = endpoints.filter(({ families }) => families)
  return [
    frontMatter(surface),
    `# ${texts[surface].title}`,
    introduction(surface, baseUrl),
    ...more,
    ...metrics.map((endpoint) => describeMetrics(endpoint, endpoints)),
    conventionList(endpoints),
    errorTable(surface, endpoints),
    "## Endpoints",
    ...endpoints.filter((endpoint) => !metrics.includes(endpoint)).map(describeEndpoint),
    ...(Object.keys(recipes).length > 0 ? ["## Recipes", recipePreface(baseUrl)] : []),
    ...Object.entries(recipes).map(describeRecipe),
    "",
  ].join("\n\n")
}

export const texts: Record<Surface, { name: string; title: string; description: string; reads: string }> = {
  admin: {
    name: `${product.slug}-admin-data-api`,
    title: "Admin data API",
    description: `Counts and reads accounts, subscriptions, orders, credits, keys and requests of a SaaS through its read-only admin data API. Use it to answer questions about growth, revenue, churn, retention, credit burn and security, or to export data. Needs an API key that begins with ${kinds.admin.prefix}.`,
    reads:
      "Read-only: every endpoint is GET. You can read what the key's scopes and its owner's current role permit; a 403 names the missing right.",
  },
  user: {
    name: `${product.slug}-user-api`,
    title: "User API",
    description: `Reads one customer's own account, subscription, orders and credits through the user API of a SaaS, and runs metered work for credits. Use it in that customer's own code. Needs an API key that begins with ${kinds.user.prefix}.`,
    reads: "Every response contains only the key owner's own data; no request can read another account.",
  },
}

function frontMatter(surface: Surface): string {
  return `---\nname: ${texts[surface].name}\ndescription: ${texts[surface].description}\n---`
}

function introduction(surface: Surface, baseUrl: string): string {
  return `${texts[surface].reads} Base URL: \`${baseUrl}\`. Send the key with every request:

    Authorization: Bearer <API_KEY>

Keep the key secret: never print it, write it to a file or put it into a URL.`
}

function conventionList(endpoints: readonly Documented[]): string {
  const has = (filter: string) => endpoints.some(({ filters }) => Object.hasOwn(filters, filter))
  return `## Conventions

${[
  conventions.envelope,
  "A field with `?` can be null. Without a type it is text or a whole number; names that end in `At` are times, in `Id` ids.",
  `Every list takes ${describeParameters(sharedParameters).map(describeInline).join("; ")}.`,
  conventions.walk,
  conventions.stream,
  ...(has("q") ? [conventions.search] : []),
  ...(has("sort") ? [conventions.sort] : []),
  conventions.money,
  conventions.times,
  conventions.strict,
  conventions.untrusted,
  conventions.rate,
  conventions.keys,
]
  .map((line) => `- ${line}`)
  .join("\n")}`
}

function errorTable(surface: Surface, endpoints: readonly Documented[]): string {
  const advice: Partial<Record<ErrorCode, string>> = {
    bad_request: "Read the message and fix the request.",
    unauthorized: "Ask for a working key.",
    insufficient_credits: "Tell the owner that the balance does not cover the call.",
    key_limit_reached: "Tell the owner which limit the message names; it resets at the time that it states.",
    wrong_scope: `Ask for a key that begins with \`${kinds[surface].prefix}\`.`,
    forbidden: "Continue without this data, and report that it is missing.",
    missing_scope: "Continue without this data, and report which scope the key lacks.",
    address_not_allowed: "Tell the owner the address that the message names.",
    not_found: "Use one of the paths below.",
    idempotency_in_progress: "Wait `Retry-After` seconds, then repeat the request.",
    payload_too_large: "Send a smaller body.",
    idempotency_mismatch: "Use a new Idempotency-Key for a different body.",
    rate_limited: "Wait `Retry-After` seconds.",
    internal: "Try again once, then report the request id.",
    service_unavailable: "Wait `Retry-After` seconds, then try again.",
  }
  const returned = new Set<string>([...endpoints.flatMap(errorCodes), "not_found"])
  const rows = Object.entries(advice)
    .filter(([code]) => returned.has(code))
    .map(([code, what]) => `| ${errors[code as ErrorCode].status} | \`${code}\` | ${what} |`)
  return `## Errors\n\n${conventions.errors}\n\n| Status | Code | Remedy |\n|---|---|---|\n${rows.join("\n")}`
}

function describeMetrics(endpoint: Documented, endpoints: readonly Documented[]): string {
  const { method, path, summary, filters, parameters, required = [], families = [] } = endpoint
  const described = describeParameters(parameters).filter(({ name }) => !Object.hasOwn(filters, name))
  return `## Metrics

### ${method} ${path}

${summary}. **Use it for every number; lists are for single rows.** It needs the permission of the family.

- ${described.map(describeInline).join("; ")}. Required: ${codesOf(required)}. A dimension is also a filter by one value: \`status=active\`.
- A row has \`id\`, the unit of time as \`createdAt\` (the start of the period, UTC; weeks start on Monday, the outer periods are clipped to the range), the dimensions and the measures. Queries with dimensions leave out rows of zeros.
- Measures without a unit are counts. Measures in minor units are always split by \`currency\`; other measures are then in rows with a null \`currency\`. \`account\` is the id of an account and also needs \`${accountDimension.permission}\`.
- \`cohort=month\` splits by month of sign-up and by \`monthsSinceSignUp\`, for the months in the range; \`by=cohort\` also returns earlier sign-ups that count.
- \`meta\` has \`total\`, \`limit\`, \`offset\`, \`definitions\` and \`asOf\`, the time of the snapshot. A rounded measure says so. An invalid query, or one that reads too many rows, returns 400 with the valid choices; ranges of whole days (UTC) can be longest.

| Family, permission | Measures | Dimensions |
|---|---|---|
${families.map((source) => familyRow(source, endpoints)).join("\n")}`
}

function familyRow({ family, permission }: Source, endpoints: readonly Documented[]): string {
  const rows = endpoints.find(({ metrics }) => metrics === family)
  const listed = rows ? describeFields(rows.data).map(({ name }) => name) : []
  const measures = Object.entries(family.measures).map(
    ([name, measure]) =>
      `\`${name}\`${measure.unit === "count" ? "" : ` ${measure.unit}`}: ${describeMeasure(name, measure, family)}`,
  )
  const dimensions = Object.entries(family.dimensions).map(([name, dimension]) =>
    describeDimension(name, dimension, listed.includes(name)),
  )
  return `| ${family.name}, \`${permission}\` | ${measures.join("; ")} | ${dimensions.join("; ")} |`
}

function describeDimension(name: string, dimension: Dimension, isListed: boolean): string {
  if (dimension === accountDimension || dimension === currencyDimension) return `\`${name}\``
  const [{ type: values } = { type: "string" }] = describeParameters({ [name]: dimension.schema })
  const type = isListed || values === "string" ? "" : ` (${values.replaceAll("|", ", ")})`
  return `\`${name}\`${type}${dimension.untrusted ? untrusted : ""}: ${dimension.description}`
}

function codesOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ")
}

const explained = ["q", "sort"]

function describeEndpoint(endpoint: Documented): string {
  const { path, method, summary, permission, scope, filters, metered, body, data, meta } = endpoint
  const requirement = permission ? ` Permission: \`${permission}\`.` : scope ? ` Scope: \`${scope}\`.` : ""
  const fields = describeFields(data)
  const filterTexts = describeParameters(filters).map((filter) => {
    const isField = fields.some(({ name }) => name === filter.name) && !filter.type.includes("default")
    if (isField) return `\`${filter.name}\``
    return describeInline(explained.includes(filter.name) ? { ...filter, description: undefined } : filter)
  })
  const all = [...fields, ...describeFields(meta).map((field) => ({ ...field, name: `meta.${field.name}` }))]
  return [
    `### ${method} ${path}`,
    `${summary}.${requirement}${filterTexts.length > 0 ? ` Filters: ${filterTexts.join(", ")}.` : ""}`,
    ...(metered ? [describeMetered(metered)] : []),
    ...(body ? [describeRequest(body, exampleBody(endpoint))] : []),
    `Fields: ${all.map(describeField).join("; ")}`,
  ].join("\n\n")
}

function describeMetered({ maxCost }: NonNullable<Documented["metered"]>): string {
  return `Costs up to ${maxCost} credits. ${conventions.metered} ${conventions.idempotency}`
}

function describeRequest(body: z.ZodType, example: unknown): string {
  return `Body, as JSON with \`Content-Type: application/json\`, for example \`${JSON.stringify(example)}\`:

${describeBody(body).map(describeField).join("; ")}

Response:`
}

const untrusted = " **untrusted**"

const common = new Set(
  describeFields(z.object({ id, timestamp, minorUnits, currency })).map(({ description }) => description),
)

function describeField({ name, type, untrusted: isUntrusted, description }: Described): string {
  const isNullable = type.endsWith(orNull)
  const shown = isNullable ? type.slice(0, -orNull.length) : type
  const isObvious =
    ["string", "integer"].includes(shown) ||
    (shown === "time" && name.endsWith("At")) ||
    (shown === "id" && /^id$|Id$/.test(name))
  const text = description && !common.has(description) ? `: ${description}` : ""
  return `\`${name}\`${isNullable ? "?" : ""}${isObvious ? "" : ` ${shown}`}${isUntrusted ? untrusted : ""}${text}`
}

const orNull = " or null"

function describeInline({ name, type, description }: Described): string {
  const details = [...(type === "string" ? [] : [type]), ...(description ? [description] : [])]
  return `\`${name}\`${details.length > 0 ? ` (${details.join(": ")})` : ""}`
}

function recipePreface(baseUrl: string): string {
  return `Each recipe is the body of an async function that returns the result, and uses these:

\`\`\`js
const today = new Date().toISOString().slice(0, 10)
const year = new Date().getUTCFullYear()
const metrics = async (query) => {
  const url = "${baseUrl}${kinds.admin.api}/metrics?limit=500&" + query
  const response = await fetch(url, { headers: { authorization: "Bearer " + process.env.${keyVariable} } })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()).data
}
\`\`\``
}

function describeRecipe([question, code]: [string, string]): string {
  return `### ${question}\n\n\`\`\`js\n${code.trim()}\n\`\`\``
}
