import { keyVariable, product } from "@/lib/product"
import { kinds, type Surface } from "@/lib/surfaces"
import {
  conventions,
  type Described,
  type Documented,
  describeBody,
  describeFields,
  describeParameters,
  errorCodes,
  exampleBody,
} from "./document"
import { type ErrorCode, errors } from "./errors"
import { sharedParameters } from "./parameters"

/**
 * The Agent Skill of one surface: front matter, then what an agent needs to call the API and use its responses.
 * Generated from the endpoints of that surface; it contains no secrets.
 */
export function skillDocument(surface: Surface, endpoints: readonly Documented[], baseUrl: string): string {
  const recipes = { ...sharedRecipes[surface], ...recipesOf(endpoints) }
  return [
    frontMatter(surface),
    `# ${texts[surface].title}`,
    introduction(surface, baseUrl),
    conventionList,
    errorTable(surface, endpoints),
    "## Endpoints",
    ...endpoints.map(describeEndpoint),
    ...(Object.keys(recipes).length > 0 ? ["## Recipes", recipePreface(baseUrl)] : []),
    ...Object.entries(recipes).map(describeRecipe),
    "",
  ].join("\n\n")
}

/** The texts that differ between the documents of the two surfaces. */
export const texts: Record<Surface, { name: string; title: string; description: string; reads: string }> = {
  admin: {
    name: `${product.slug}-admin-data-api`,
    title: "Admin data API",
    description: `Reads accounts, subscriptions, orders, credits and daily statistics of a SaaS through its read-only admin data API. Use it to answer questions about growth, revenue, churn, retention and credit burn, or to export data. Needs an API key that begins with ${kinds.admin.prefix}.`,
    reads:
      "Read-only: every endpoint is GET. You can read what the key's scopes and the current role of its owner permit; a 403 names what is missing.",
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

const conventionList = `## Conventions

${[
  conventions.envelope,
  `Every list takes ${describeParameters(sharedParameters).map(describeInline).join("; ")}.`,
  conventions.walk,
  conventions.stream,
  conventions.bounds,
  conventions.money,
  conventions.times,
  conventions.strict,
  conventions.untrusted,
  conventions.rate,
  conventions.keys,
]
  .map((line) => `- ${line}`)
  .join("\n")}`

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
  return `## Errors\n\n${conventions.errors}\n\n| Status | Code | What to do |\n|---|---|---|\n${rows.join("\n")}`
}

function describeEndpoint(endpoint: Documented): string {
  const { path, method, summary, permission, scope, filters, metered, data, meta } = endpoint
  const requirement = permission ? ` Permission: \`${permission}\`.` : scope ? ` Scope: \`${scope}\`.` : ""
  const filterTexts = describeParameters(filters).map(describeInline)
  const fields = [
    ...describeFields(data),
    ...describeFields(meta).map((field) => ({ ...field, name: `meta.${field.name}` })),
  ]
  return [
    `### ${method} ${path}`,
    `${summary}.${requirement}${filterTexts.length > 0 ? ` Filters: ${filterTexts.join(", ")}.` : ""}`,
    ...(metered ? [describeMetered(metered, exampleBody(endpoint))] : []),
    fields.map(describeField).join("\n"),
  ].join("\n\n")
}

function describeMetered({ maxCost, body }: NonNullable<Documented["metered"]>, example: unknown): string {
  return `Costs up to ${maxCost} credits. ${conventions.metered} ${conventions.idempotency}

Body, as JSON with \`Content-Type: application/json\`, for example \`${JSON.stringify(example)}\`:

${describeBody(body).map(describeField).join("\n")}

Response:`
}

function describeField({ name, type, untrusted, description }: Described): string {
  return `- \`${name}\` ${type}${untrusted ? " **untrusted**" : ""}${description ? `: ${description}` : ""}`
}

function describeInline({ name, type, description }: Described): string {
  return `\`${name}\` (${type}${description ? `: ${description}` : ""})`
}

function recipePreface(baseUrl: string): string {
  return `Each recipe is the body of an async function that returns the result, and uses these two helpers:

\`\`\`js
const get = async (path) => {
  const response = await fetch("${baseUrl}" + path, { headers: { authorization: "Bearer " + process.env.${keyVariable} } })
  if (!response.ok) throw new Error(response.status + " " + (await response.text()))
  return response.json()
}
const all = async (path) => {
  const rows = []
  for (let cursor = ""; cursor !== null; ) {
    const page = await get(path + (path.includes("?") ? "&" : "?") + "limit=500" + (cursor && "&cursor=" + cursor))
    rows.push(...page.data)
    cursor = page.meta.nextCursor
  }
  return rows
}
\`\`\``
}

function recipesOf(endpoints: readonly Documented[]): Record<string, string> {
  return Object.assign({}, ...endpoints.map(({ recipes }) => recipes))
}

function describeRecipe([question, code]: [string, string]): string {
  return `### ${question}\n\n\`\`\`js\n${code.trim()}\n\`\`\``
}

/** Recipes that combine several endpoints; the others are in the definition of their endpoint. */
const sharedRecipes: Record<Surface, Record<string, string>> = {
  user: {},
  admin: {
    "Retention by cohort: for the accounts of each sign-up month, how many ever subscribed and how many still do": `
const [users, subscriptions] = [await all("/api/v1/admin/users"), await all("/api/v1/admin/subscriptions")]
const ever = new Set(subscriptions.map(({ userId }) => userId))
const still = new Set(subscriptions.filter(({ canceledAt }) => canceledAt === null).map(({ userId }) => userId))
const cohorts = {}
for (const { id, createdAt } of users) {
  const month = createdAt.slice(0, 7)
  const cohort = (cohorts[month] ??= { month, accounts: 0, subscribed: 0, retained: 0 })
  cohort.accounts += 1
  if (ever.has(id)) cohort.subscribed += 1
  if (still.has(id)) cohort.retained += 1
}
return Object.values(cohorts).sort((a, b) => (a.month < b.month ? -1 : 1))`,
    "Why revenue changed: this year's net revenue by plan and currency; credit packs have no plan": `
const year = new Date().getUTCFullYear()
const planOf = new Map((await all("/api/v1/admin/subscriptions")).map(({ id, planId }) => [id, planId]))
const sums = {}
for (const order of await all("/api/v1/admin/orders")) {
  if (order.paidAt === null || !order.paidAt.startsWith(year + "-")) continue
  const plan = planOf.get(order.subscriptionId) ?? "credits"
  const sum = (sums[plan + " " + order.currency] ??= { plan, currency: order.currency, orders: 0, net: 0 })
  sum.orders += 1
  sum.net += order.amount - order.refundedAmount
}
return Object.values(sums).sort((a, b) => b.net - a.net || (a.plan < b.plan ? -1 : 1))`,
  },
}
