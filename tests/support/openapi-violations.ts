import { Ajv2020, type ValidateFunction } from "ajv/dist/2020"
import formats from "ajv-formats"
import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { GET } from "@/app/api/v1/openapi.json/route"

type Answer = { $ref?: string; content?: Record<string, unknown> }

const document = await (await GET(new Request("http://localhost:3000/api/v1/openapi.json"))).json()
// Strict, so that a misspelt keyword is an error too; the document's own parts are no keywords of JSON Schema.
const keywords = ["x-untrusted", ...Object.keys(document)]
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, keywords })
formats.default(ajv)
ajv.addSchema(document, "document")

/** For tests: in what an answer differs from what the OpenAPI document states for its path, method and status. */
export async function openApiViolations(
  { path, method }: ServedEndpoint,
  asked: string,
  response: Response,
): Promise<readonly unknown[]> {
  const type = String(response.headers.get("content-type"))
  const matches = asked === method ? validatorOf(path, method, response.status, type) : errorValidator()
  if (!matches) return [`The document does not say that ${method} ${path} answers ${response.status} in ${type}.`]
  matches(await response.json())
  return matches.errors ?? []
}

function validatorOf(path: string, method: string, status: number, type: string): ValidateFunction | undefined {
  const place = ["paths", path, method.toLowerCase(), "responses", String(status)]
  const response: Answer | undefined = place.reduce((part, name) => part?.[name], document)
  if (!response) return undefined
  const base = response.$ref ?? `#/${place.map(escaped).join("/")}`
  return ajv.getSchema(`document${base}/content/${escaped(type)}/schema`)
}

/** For methods that the path does not have, which the document has nothing to say about but the shape of errors. */
function errorValidator(): ValidateFunction | undefined {
  return ajv.getSchema("document#/components/schemas/Error")
}

/** A part of a JSON pointer (RFC 6901), in a URI. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))
}
