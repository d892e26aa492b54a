import { z } from "zod"
import { accountDimensions, type Dimension, type Source } from "@/lib/metrics/family"
import { accountEmail, currency, id, minorUnits, timestamp } from "@/lib/platform/schemas/fields"
import { product } from "@/lib/product"
import { kinds, type Surface } from "@/lib/surfaces"
import { type ErrorCode, errors } from "../errors"
import { sharedParameters } from "../parameters"
import {
  conventions,
  type Described,
  type Documented,
  describeBody,
  describeFields,
  describeParameters,
  errorCodes,
  exampleBody,
  restrictionOf,
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
    errorList(surface, endpoints),
    "## Endpoints",
    ...endpoints.filter((endpoint) => !metrics.includes(endpoint)).map(describeEndpoint),
    ...(Object.keys(recipes).length > 0 ? [describeRecipes(recipes)] : []),
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

Never print the key, write it to a file or put it into a URL.`
}

function conventionList(endpoints: readonly Documented[]): string {
  const has = (filter: string) => endpoints.some(({ filters }) => Object.hasOwn(filters, filter))
  return `## Conventions

${[
  conventions.envelope,
  "A field with `?` can be null. Without a type it is text or a whole number; names in `At` are times, in `Id` ids.",
  `Every list takes ${describeParameters(sharedParameters).map(describeInline).join("; ")}.`,
  conventions.walk,
  conventions.stream,
  ...(has("userId") ? [conventions.emails] : []),
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

function errorList(surface: Surface, endpoints: readonly Documented[]): string {
  const advice: Partial<Record<ErrorCode, string>> = {
    bad_request: "Fix what the message says.",
    unauthorized: "Ask for a working key.",
    insufficient_credits: "Tell the owner that the balance does not cover the call.",
    key_limit_reached: "Tell the owner which limit the message names; it resets at the time that it states.",
    wrong_scope: `Ask for a key that begins with \`${kinds[surface].prefix}\`.`,
    forbidden: "Report that this data is missing.",
    missing_scope: "Report which scope the key lacks.",
    address_not_allowed: "Tell the owner the address that the message names.",
    not_found: "Use a path below.",
    idempotency_in_progress: "Wait `Retry-After` seconds, then repeat the request.",
    payload_too_large: "Send a smaller body.",
    idempotency_mismatch: "Use a new Idempotency-Key for a different body.",
    rate_limited: "Wait `Retry-After` seconds.",
    internal: "Try again once, then report the request id.",
    service_unavailable: "Wait `Retry-After` seconds.",
  }
  const returned = new Set<string>([...endpoints.flatMap(errorCodes), "not_found"])
  const lines = Object.entries(advice)
    .filter(([code]) => returned.has(code))
    .map(([code, what]) => `- ${errors[code as ErrorCode].status} \`${code}\`: ${what}`)
  return `## Errors\n\n${conventions.errors}\n\n${lines.join("\n")}`
}

function describeMetrics(endpoint: Documented, endpoints: readonly Documented[]): string {
  const { method, path, summary, filters, parameters, required = [], families = [] } = endpoint
  const known = [...Object.keys(filters), "limit", "offset", "meta"]
  const described = describeParameters(parameters).filter(({ name }) => !known.includes(name))
  return `## Metrics

### ${method} ${path}

${summary}. **Use it for every number; lists are for single rows.** It needs the permission of the family.

- ${described.map(describeInline).join("; ")}. Required: ${codesOf(required)}. \`limit\` and \`offset\` are as in lists. A dimension is also a filter by one value: \`status=active\`.
- A row has \`id\` (the period and the dimensions, untrusted if one is), the start of the period as \`createdAt\` (UTC; weeks start on Monday, outer periods are clipped), the dimensions and the measures. With dimensions, rows of zeros are left out.
- Measures without a unit are counts. ${conventions.shared} With the dimension \`account\` or \`actor\`, \`email\` (**untrusted**) adds the address: \`by=account,email\`. All three also need \`${accountDimensions.account.permission}\`.
- \`cohort=month\` splits the months of the range by month of sign-up and \`monthsSinceSignUp\`; \`by=cohort\` has earlier sign-ups too.
- \`meta\` has \`total\` (rows of the whole result), \`limit\`, \`offset\`, \`asOf\` (the time of the snapshot) and \`definitions\`, which you know from here: **send \`meta=short\`**. A query that is invalid or reads too many rows returns 400 with the choices; ranges of whole days (UTC) can be longest.
- Definitions are of the row's period; a rounded measure says so. A dimension without a text is a field of the family's list.

| Family, permission | Measures | Dimensions |
|---|---|---|
${families.map((source) => familyRow(source, endpoints)).join("\n")}`
}

/** The text above the table explains them. */
const explainedDimensions = ["currency", "email"]

function familyRow({ family, permission }: Source, endpoints: readonly Documented[]): string {
  const rows = endpoints.find(({ metrics }) => metrics === family)
  const listed = rows ? describeFields(rows.data).map(({ name }) => name) : []
  const groups = new Map<string, string[]>()
  for (const [name, measure] of Object.entries(family.measures)) {
    const restriction = restrictionOf(name, measure, family, explainedDimensions)
    const unit = measure.unit === "count" ? "" : ` ${measure.unit}`
    const text = `\`${name}\`${unit}: ${measure.definition.replaceAll(" in the period", "")}`
    groups.set(restriction, [...(groups.get(restriction) ?? []), text])
  }
  const measures = [...groups].map(([restriction, texts]) => `${restriction && `(${restriction}) `}${texts.join("; ")}`)
  const dimensions = Object.entries(family.dimensions)
    .filter(([name]) => !explainedDimensions.includes(name))
    .map(([name, dimension]) => describeDimension(name, dimension, listed.includes(name)))
  return `| ${family.name}, \`${permission}\` | ${measures.join(". ")} | ${dimensions.join("; ")} |`
}

function describeDimension(name: string, dimension: Dimension, isListed: boolean): string {
  const marked = `\`${name}\`${dimension.untrusted ? untrusted : ""}`
  if (isListed || dimension === accountDimensions.account) return marked
  const [{ type: values } = { type: "string" }] = describeParameters({ [name]: dimension.schema })
  return `${marked}${values === "string" ? "" : ` (${values.replaceAll("|", ", ")})`}: ${dimension.description}`
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
    const isField =
      filter.name !== "id" && fields.some(({ name }) => name === filter.name) && !filter.type.includes("default")
    // One that ends in Until is described with the one that ends in Since.
    if (isField || filter.name.endsWith("Until")) return `\`${filter.name}\``
    return describeInline(explained.includes(filter.name) ? { ...filter, description: undefined } : filter)
  })
  const all = [
    ...fields.filter(({ description }) => description !== accountEmail.description),
    ...describeFields(meta).map((field) => ({ ...field, name: `meta.${field.name}` })),
  ]
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
  const text = description && !common.has(description) && name !== "userId" ? `: ${description}` : ""
  // Names without backticks take a third less tokens.
  return `${name}${isNullable ? "?" : ""}${isObvious ? "" : ` ${shown}`}${isUntrusted ? untrusted : ""}${text}`
}

const orNull = " or null"

function describeInline({ name, type, description }: Described): string {
  const details = [...(type === "string" ? [] : [type]), ...(description ? [description] : [])]
  return `\`${name}\`${details.length > 0 ? ` (${details.join(": ")})` : ""}`
}

function describeRecipes(recipes: Readonly<Record<string, string>>): string {
  const year = String(new Date().getUTCFullYear())
  const lines = Object.entries(recipes).map(([title, query]) => `- ${title}: \`${query.replace("{year}", year)}\``)
  return `## Recipes

Queries of the metrics; add \`&meta=short&until=\` and today's date.

${lines.join("\n")}`
}
