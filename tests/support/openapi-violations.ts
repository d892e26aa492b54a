import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020"
import formats from "ajv-formats"
import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { GET } from "@/app/api/v1/openapi.json/route"

type ResponseObject = { $ref?: string; content?: Record<string, unknown> }

const document = await (await GET(new Request("http://localhost:3000/api/v1/openapi.json"))).json()
// Strict, so that a misspelled keyword is an error; the top-level fields of OpenAPI are not keywords of JSON Schema.
const keywords = ["x-untrusted", ...Object.keys(document)]
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, keywords })
formats.default(ajv)
ajv.addSchema(document, "document")

/**
 * The differences between a response and the schema in the OpenAPI document for its path, method and status.
 * @param query the parameters `fields` and `meta` leave fields out
 */
export async function openApiViolations(
  { path, method }: Pick<ServedEndpoint, "path" | "method">,
  requested: string,
  response: Response,
  query = new URLSearchParams(),
): Promise<readonly unknown[]> {
  const [type = ""] = String(response.headers.get("content-type")).split(";")
  const validate = requested === method ? validatorOf(path, method, response.status, type) : errorValidator()
  if (!validate) return [`The document has no response ${response.status} in ${type} for ${method} ${path}.`]
  validate(type === "application/json" ? await response.json() : await response.text())
  const isLeftOut = ({ keyword, instancePath }: ErrorObject) =>
    keyword === "required" &&
    ((query.has("fields") && /^\/data\/\d+$/.test(instancePath)) ||
      (query.get("meta") === "short" && instancePath === "/meta"))
  return (validate.errors ?? []).filter((error) => !isLeftOut(error))
}

function validatorOf(path: string, method: string, status: number, type: string): ValidateFunction | undefined {
  const keys = ["paths", path, method.toLowerCase(), "responses", String(status)]
  const response: ResponseObject | undefined = keys.reduce((part, name) => part?.[name], document)
  if (!response) return undefined
  const base = response.$ref ?? `#/${keys.map(escaped).join("/")}`
  return ajv.getSchema(`document${base}/content/${escaped(type)}/schema`)
}

/** For methods that the path does not support: the document specifies only the error envelope for them. */
function errorValidator(): ValidateFunction | undefined {
  return ajv.getSchema("document#/components/schemas/Error")
}

/** Escapes a reference token of a JSON Pointer (RFC 6901) for use in a URI. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))
}
