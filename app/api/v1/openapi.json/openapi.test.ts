import { existsSync, readFileSync } from "node:fs"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { expect, test } from "vitest"
import { schemaName } from "@/lib/api/documents/document"
import { endpoints } from "../endpoints"
import { GET } from "./route"

const table = await endpoints()
const text = await (await GET(new Request("http://localhost:3000/api/v1/openapi.json"))).text()
const document = JSON.parse(text)

test("the document passes an OpenAPI linter without problems", async () => {
  const config = await createConfig({ extends: ["recommended-strict"], rules: { "no-server-example.com": "off" } })
  const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config })
  expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual([])
})

test("the document has every endpoint with all its parameters and fields", () => {
  expect(Object.keys(document.paths)).toEqual([...table.map(({ path }) => path), "/api/leaks"])
  for (const { path, method, parameters, required = [], metered, data } of table) {
    const operation = document.paths[path][method.toLowerCase()]
    expect(operation.parameters.map(({ name }: { name: string }) => name)).toEqual([
      ...Object.keys(parameters),
      ...(metered ? ["Idempotency-Key"] : []),
    ])
    const needed = operation.parameters.filter((parameter: { required: boolean }) => parameter.required)
    expect(needed.map(({ name }: { name: string }) => name)).toEqual(required)
    const { shape } = data as unknown as { shape?: object }
    if (shape) {
      const schema = document.components.schemas[schemaName(path)]
      expect(Object.keys(schema.properties)).toEqual(Object.keys(shape))
    }
  }
})

test("every operation has the example stored next to its route; `npm run api:examples` writes it", () => {
  for (const { path, method } of table) {
    const { content } = document.paths[path][method.toLowerCase()].responses[200]
    const file = `app${path}/example.json`
    expect(existsSync(file), file).toBe(true)
    expect(content["application/json"].example, path).toEqual(JSON.parse(readFileSync(file, "utf8")))
  }
})

test("every operation declares all its error responses, those with one status together", () => {
  for (const { path, method, scope, families } of table) {
    const { responses } = document.paths[path][method.toLowerCase()]
    for (const status of [200, 400, 401, 403, 429, 500, 503]) expect(responses, path).toHaveProperty(String(status))
    const { content } = document.components.responses[responses[403].$ref.split("/").at(-1)]
    const codes = ["wrong_scope", "forbidden", ...(scope || families ? ["missing_scope"] : []), "address_not_allowed"]
    expect(Object.keys(content["application/json"].examples), path).toEqual(codes)
  }
})
