import { type JsonSchema, jsonSchemaOf } from "@/lib/api/documents/document"
import type { Session } from "./session"
import { send } from "./session"
import type { Tool } from "./tool"

const paths = { create: "/api/v1/me/run-intents", run: "/api/v1/me/run-intents/run" }

/** Without run intents there are none: a client that forgets an idempotency key would pay twice. */
export function runTools(session: Session): Tool[] {
  const { endpoints } = session
  const at = (path: string) => endpoints.find((endpoint) => endpoint.path === path)
  const [create, run] = [at(paths.create), at(paths.run)]
  if (!create?.body || !run?.body) return []
  const metered = endpoints.filter((endpoint) => endpoint.metered)
  const [only] = metered
  const body = metered.length === 1 && only?.body ? schemaOf(only.body) : undefined
  const { properties = {} } = schemaOf(create.body)
  return [
    {
      name: "create_run_intent",
      description: `Checks a call and states its price and the balance; charges nothing. Then run makes the call. ${metered.map(({ path, summary }) => `${path}: ${summary}`).join("; ")}.`,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      properties: { ...properties, ...(body && { body }) },
      required: ["body"],
      call: (given) => send(session, create, { body: given }),
    },
    {
      name: "run",
      description:
        "Makes the call of a run intent and charges it once; repeat it with the same id if a response is lost.",
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      properties: schemaOf(run.body).properties ?? {},
      required: ["id"],
      call: (given) => send(session, run, { body: given }),
    },
  ]
}

function schemaOf(body: Parameters<typeof jsonSchemaOf>[0]): JsonSchema {
  return withoutExamples(jsonSchemaOf(body, "input"))
}

function withoutExamples({ examples: _examples, properties, ...schema }: JsonSchema): JsonSchema {
  if (!properties) return schema
  const named = Object.entries(properties).map(([name, property]) => [name, withoutExamples(property)])
  return { ...schema, properties: Object.fromEntries(named) }
}
