import { exampleBody, operationId } from "@/lib/api/documents/document"
import { requestIn } from "@/lib/api/documents/example-requests"
import { env } from "@/lib/env"
import type { Request } from "@/lib/request-log/lists"
import type { Surface } from "@/lib/surfaces"
import { endpoints } from "./endpoints"

/** A logged request as curl, with names in place of the values, which are not logged; and the endpoint's documents. */
export async function sentAgain({
  method,
  route,
  parameters,
}: Request): Promise<{ surface: Surface; title: string; curl: string; reference: string } | undefined> {
  const endpoint = (await endpoints()).find(({ path }) => path === route)
  if (!endpoint) return undefined
  const search = parameters.map((name, index) => `${index === 0 ? "?" : "&"}${name}=<${name}>`).join("")
  const isCall = method === "POST" && endpoint.method === "POST"
  const curl = requestIn("curl", {
    url: env().BASE_URL + route + search,
    ...(isCall && { body: exampleBody(endpoint), isMetered: endpoint.metered !== undefined }),
  })
  return {
    surface: endpoint.surface,
    title: titleFor(isCall, parameters.length > 0),
    curl: method === "GET" || isCall ? curl : curl.replace("curl", method === "HEAD" ? "curl -I" : `curl -X ${method}`),
    reference: `/docs/${endpoint.surface}#${operationId(endpoint)}`,
  }
}

function titleFor(hasBody: boolean, hasValues: boolean): string {
  if (hasBody) return "As curl, with the body of the example: bodies are not logged"
  return hasValues ? "As curl, without the values: they are not logged" : "As curl"
}
