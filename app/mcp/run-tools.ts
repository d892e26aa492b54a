import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { exampleBody, type JsonSchema, jsonSchemaOf } from "@/lib/api/documents/document"
import { type Session, send } from "./session"
import type { Tool, Tools } from "./tool"

/** Without run intents there are none: a client that forgets an idempotency key would pay twice. */
export const runTools: Tools = { create_run_intent: createRunIntent, run }

function createRunIntent(session: Session): Tool | undefined {
  const create = endpointAt(session, "/api/v1/me/run-intents")
  if (!create) return undefined
  const metered = session.endpoints.filter((endpoint) => endpoint.metered)
  const calls = metered.map(({ path, summary }) => `${path}: ${summary}`)
  return {
    description: `Checks a call and states its price and the balance; charges nothing. Then run makes the call. ${calls.join("; ")}.`,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    properties: () => ({ ...schemaOf(create.body).properties, body: bodySchema(metered) }),
    required: ["body"],
    call: (given) => send(session, create, { body: given }),
  }
}

function run(session: Session): Tool | undefined {
  const endpoint = endpointAt(session, "/api/v1/me/run-intents/run")
  if (!endpoint) return undefined
  return {
    description:
      "Makes the call of a run intent and charges it once; repeat it with the same id if a response is lost.",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    properties: () => schemaOf(endpoint.body).properties ?? {},
    required: ["id"],
    call: (given) => send(session, endpoint, { body: given }),
  }
}

function endpointAt({ endpoints }: Session, path: string): ServedEndpoint | undefined {
  return endpoints.find((endpoint) => endpoint.path === path)
}

function bodySchema(metered: readonly ServedEndpoint[]): JsonSchema {
  const [first, ...others] = metered
  if (first && others.length === 0) return schemaOf(first.body)
  return { type: "object", description: `For example ${metered.map(exampleOf).join("; ")}` }
}

function exampleOf(endpoint: ServedEndpoint): string {
  return `${endpoint.path}: ${JSON.stringify(exampleBody(endpoint))}`
}

function schemaOf(body: ServedEndpoint["body"]): JsonSchema {
  return body ? withoutExamples(jsonSchemaOf(body, "input")) : {}
}

function withoutExamples({ examples: _examples, properties, ...schema }: JsonSchema): JsonSchema {
  if (!properties) return schema
  const named = Object.entries(properties).map(([name, property]) => [name, withoutExamples(property)])
  return { ...schema, properties: Object.fromEntries(named) }
}
