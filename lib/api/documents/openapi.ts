import { leakReceipt, leakReport } from "@/lib/leaks/leak-report"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { mayReadStandbys } from "../endpoint"
import { type ErrorCode, errors } from "../errors"
import { idempotencyKeyHeader } from "../idempotency-key"
import { csv, ndjson } from "../streams/formats"
import {
  conventions,
  type Documented,
  errorCodes,
  exampleBody,
  type JsonSchema,
  jsonSchemaOf,
  meteredHeaders,
  operationId,
  paymentHeaders,
  readHeaders,
  replacedHeaders,
  responseHeaders,
  retryable,
  retryHeaders,
  schemaName,
} from "./document"

const version = "1.0.0"

export function openApiDocument(endpoints: readonly Documented[], baseUrl: string): string {
  return JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: product.name,
      version,
      summary: "The admin data API and the user API, each with its own kind of key",
      description: `${limits.key.tokens} requests per minute per key. A key for one API is rejected by the other.`,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: baseUrl }],
    tags: [
      { name: "admin", description: `The data of every account, read-only; keys begin with ${kinds.admin.prefix}.` },
      { name: "user", description: `The key owner's own account; keys begin with ${kinds.user.prefix}.` },
      { name: "leaks", description: "For anyone who finds a leaked key; needs no key." },
    ],
    // The key is accepted in either header.
    security: [{ bearer: [] }, { header: [] }],
    paths: {
      ...Object.fromEntries(
        endpoints.map((endpoint) => [endpoint.path, { [endpoint.method.toLowerCase()]: operation(endpoint) }]),
      ),
      "/api/leaks": { post: leakOperation },
    },
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "Authorization: Bearer <API_KEY>" },
        header: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      schemas: {
        Error: {
          type: "object",
          required: ["error"],
          additionalProperties: false,
          properties: {
            error: {
              type: "object",
              required: ["code", "message"],
              additionalProperties: false,
              properties: { code: { type: "string" }, message: { type: "string" } },
            },
          },
        },
        ...Object.fromEntries(
          endpoints.map((endpoint) => [schemaName(endpoint.path), jsonSchemaOf(endpoint.data, "output")]),
        ),
      },
      headers: Object.fromEntries(
        Object.entries({
          ...responseHeaders,
          ...replacedHeaders,
          ...readHeaders,
          ...meteredHeaders,
          ...retryHeaders,
          ...paymentHeaders,
        }).map(([name, description]) => [
          name,
          { description, schema: { type: /^(X-RateLimit|Retry)/.test(name) ? "integer" : "string" } },
        ]),
      ),
      responses: Object.fromEntries(
        endpoints.flatMap((endpoint) =>
          errorResponses(endpoint).map((codes) => [responseName(codes), errorResponse(codes)]),
        ),
      ),
    },
  })
}

function headersOf(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const streamContent = {
  [ndjson.type]: {
    schema: { type: "string", description: 'A row in each line, and a last line `{"meta":{"total"}}` or `{"error"}`' },
  },
  [csv.type]: { schema: { type: "string", description: "A line with the names of the fields, and one for each row" } },
}

function operation(endpoint: Documented) {
  const { summary, surface, parameters, required = [], metered, body } = endpoint
  return {
    operationId: operationId(endpoint),
    tags: [surface],
    summary,
    description: descriptionOf(endpoint),
    parameters: [
      ...Object.entries(parameters).map(([name, schema]) =>
        parameter(name, required.includes(name), jsonSchemaOf(schema, "input")),
      ),
      ...(metered ? [idempotencyKey] : []),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: jsonSchemaOf(body, "input"), example: exampleBody(endpoint) },
        },
      },
    }),
    responses: {
      200: {
        description: endpoint.shape === "list" ? "Success; with `fields`, rows have only those fields" : "Success",
        headers: headersOf([
          ...Object.keys({ ...responseHeaders, ...replacedHeaders }),
          ...(mayReadStandbys(endpoint) ? Object.keys(readHeaders) : []),
          ...(errorCodes(endpoint).includes("idempotency_in_progress") ? Object.keys(meteredHeaders) : []),
        ]),
        content: {
          "application/json": { schema: envelope(endpoint), example: endpoint.example },
          ...(endpoint.shape !== "object" && streamContent),
        },
      },
      ...Object.fromEntries(
        errorResponses(endpoint).map((codes) => [
          errors[codes[0]].status,
          { $ref: `#/components/responses/${responseName(codes)}` },
        ]),
      ),
    },
  }
}

const leakOperation = {
  operationId: "reportLeaks",
  tags: ["leaks"],
  summary: "Reports keys that leaked",
  description: `Keys that work are revoked and their owners told, after the response, which is the same for all keys. ${limits.leakReportsAddress.tokens} requests an hour per address.`,
  security: [],
  requestBody: {
    required: true,
    content: {
      "application/json": {
        schema: jsonSchemaOf(leakReport, "input"),
        example: { keys: [`${kinds.user.prefix}…`] },
      },
    },
  },
  responses: {
    202: {
      description: "The report was received",
      content: { "application/json": { schema: objectOf(jsonSchemaOf(leakReceipt, "output")) } },
    },
    ...Object.fromEntries(
      (["bad_request", "payload_too_large", "rate_limited", "internal", "service_unavailable"] as const).map((code) => [
        errors[code].status,
        { description: errors[code].meaning, content: errorContent([code]) },
      ]),
    ),
  },
}

type Codes = readonly [ErrorCode, ...ErrorCode[]]

/** OpenAPI has one response for each status. */
function errorResponses(endpoint: Documented): Codes[] {
  const all = errorCodes(endpoint)
  const statuses = [...new Set(all.map((code) => errors[code].status))]
  return statuses.map((status) => all.filter((code) => errors[code].status === status) as unknown as Codes)
}

function responseName(codes: Codes): string {
  return codes.join("-or-")
}

function descriptionOf({ permission, scope, metered, families }: Documented): string {
  if (families) {
    const described = families.map(({ family: { name, measures, dimensions }, permission }) => {
      const [counted, split] = [measures, dimensions].map((names) => Object.keys(names).join(", "))
      return `- ${name}, with the permission \`${permission}\`: ${counted}; by ${split}`
    })
    return `Measures of one family in one request. The key's owner must hold the permission of the family, and the key must have it as a scope. ${conventions.shared}\n\n${described.join("\n")}`
  }
  if (permission) {
    return `The key's owner must hold the permission \`${permission}\`, and the key must have it as a scope.`
  }
  if (!scope) return "Every key may read this about itself."
  const needed = `The key must have the scope \`${scope}\`.`
  return metered
    ? `${needed} Costs up to ${metered.maxCost} credits. ${conventions.metered}`
    : `${needed} Only its owner's own data.`
}

const idempotencyKey = {
  name: idempotencyKeyHeader,
  in: "header",
  required: false,
  description: conventions.idempotency,
  schema: { type: "string", minLength: 1, maxLength: 255 },
}

function errorResponse(codes: Codes) {
  const [first] = codes
  return {
    description: codes.map((code) => `\`${code}\`: ${errors[code].meaning}`).join("\n\n"),
    headers: headersOf([
      ...(errors[first].status === errors.unauthorized.status ? ["X-Request-Id"] : Object.keys(responseHeaders)),
      ...(retryable.includes(first) ? Object.keys(retryHeaders) : []),
      ...(codes.includes("insufficient_credits") ? Object.keys(paymentHeaders) : []),
    ]),
    content: errorContent(codes),
  }
}

function errorContent(codes: Codes) {
  return {
    "application/json": {
      schema: { $ref: "#/components/schemas/Error" },
      examples: Object.fromEntries(
        codes.map((code) => [code, { value: { error: { code, message: errors[code].meaning } } }]),
      ),
    },
  }
}

function parameter(name: string, required: boolean, { description, ...schema }: JsonSchema) {
  return { name, in: "query", required, ...(description && { description }), schema }
}

function objectOf(data: object) {
  return { type: "object", required: ["data"], additionalProperties: false, properties: { data } }
}

function envelope(endpoint: Documented) {
  const data = { $ref: `#/components/schemas/${schemaName(endpoint.path)}` }
  if (endpoint.shape === "object") return objectOf(data)
  const isList = endpoint.shape === "list"
  const count = { type: "integer", minimum: 0 }
  const nextCursor = { type: ["string", "null"], description: "The cursor of the next page; null on the last page" }
  const extra = jsonSchemaOf(endpoint.meta, "output")
  return {
    type: "object",
    required: ["data", "meta"],
    additionalProperties: false,
    properties: {
      data: { type: "array", items: data },
      meta: {
        type: "object",
        required: ["total", "limit", "offset", ...(isList ? ["nextCursor"] : []), ...(extra.required ?? [])],
        additionalProperties: false,
        properties: {
          total: {
            ...count,
            description: isList
              ? "All matching rows, on this page or not"
              : "All rows of the result, on this page or not: one for each group and period",
          },
          limit: count,
          offset: count,
          ...(isList && { nextCursor }),
          ...extra.properties,
        },
      },
    },
  }
}
