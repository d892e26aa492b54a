import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { exampleBody, type JsonSchema, jsonSchemaOf } from "@/lib/api/documents/document"
import { type Session, send } from "./session"
import { sentOf, type Tool, type Tools } from "./tool"

type Row = NonNullable<ServedEndpoint["tool"]>

/** The tools of endpoints that write. A metered endpoint is none: a client that forgets an idempotency key would pay twice. */
export function postTools(session: Session): Tools {
  return Object.fromEntries(
    session.endpoints.flatMap(({ tool, ...endpoint }) =>
      tool ? [[tool.name, () => toolOf(session, endpoint, tool)]] : [],
    ),
  )
}

function toolOf(session: Session, endpoint: ServedEndpoint, { spends, isIdempotent, ofMetered }: Row): Tool {
  const { properties = {}, required = [] } = schemaOf(endpoint.body)
  const metered = () => bodyOf(session.endpoints.filter((other) => other.metered))
  return {
    description: `${endpoint.summary}.`,
    annotations: { readOnlyHint: false, destructiveHint: spends, idempotentHint: isIdempotent, openWorldHint: false },
    properties: () => ({ ...properties, ...(ofMetered && { body: metered() }) }),
    required: ofMetered ? [...new Set([...required, "body"])] : required,
    call: (given) => send(session, endpoint, { body: Object.fromEntries(sentOf(given)) }),
  }
}

function bodyOf(metered: readonly ServedEndpoint[]): JsonSchema {
  const [first, ...others] = metered
  const description = metered.map(({ path, summary }) => `${path}: ${summary}`).join("; ")
  if (first && others.length === 0) return { ...schemaOf(first.body), description }
  const examples = metered.map((endpoint) => `${endpoint.path}: ${JSON.stringify(exampleBody(endpoint))}`)
  return { type: "object", description: `${description}. For example ${examples.join("; ")}` }
}

function schemaOf(body: ServedEndpoint["body"]): JsonSchema {
  return body ? withoutExamples(jsonSchemaOf(body, "input")) : {}
}

function withoutExamples({ examples: _examples, properties, ...schema }: JsonSchema): JsonSchema {
  if (!properties) return schema
  const named = Object.entries(properties).map(([name, property]) => [name, withoutExamples(property)])
  return { ...schema, properties: Object.fromEntries(named) }
}
