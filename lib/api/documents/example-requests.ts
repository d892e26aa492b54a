import { keyVariable } from "@/lib/product"
import { idempotencyKeyHeader } from "../idempotency-key"
import { type Documented, exampleBody, exampleSearch } from "./document"

type Example = { url: string; body?: Record<string, unknown> | undefined; key?: string }

/** The examples need only the standard library. Metered calls generate a new idempotency key each time. */
const languages = {
  curl: {
    title: "curl",
    write: ({ url, body, key = `$${keyVariable}` }) => {
      const lines = [`curl "${url}"`, `-H "Authorization: Bearer ${key}"`]
      if (body) {
        lines.push(
          `-H "${idempotencyKeyHeader}: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')"`,
          `-H "Content-Type: application/json"`,
          `-d '${JSON.stringify(body).replaceAll("'", "\\u0027")}'`,
        )
      }
      return lines.join(" \\\n  ")
    },
  },
  javascript: {
    title: "JavaScript",
    write: ({ url, body, key }) => {
      const authorization = key ? `"Bearer ${key}"` : `\`Bearer \${process.env.${keyVariable}}\``
      return `const response = await fetch("${url}", {${
        body
          ? `
  method: "POST",
  headers: {
    Authorization: ${authorization},
    "${idempotencyKeyHeader}": crypto.randomUUID(),
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${JSON.stringify(body)}),`
          : `
  headers: { Authorization: ${authorization} },`
      }
})
if (!response.ok) throw new Error(await response.text())
console.log(await response.json())`
    },
  },
  python: {
    title: "Python",
    write: ({ url, body, key }) => {
      const authorization = key ? `"Bearer ${key}"` : `"Bearer " + os.environ["${keyVariable}"]`
      return `import json${key ? "" : ", os"}, urllib.request${body ? ", uuid" : ""}

request = urllib.request.Request(
    "${url}",${
      body
        ? `
    data=json.dumps(${JSON.stringify(body)}).encode(),
    headers={
        "Authorization": ${authorization},
        "${idempotencyKeyHeader}": str(uuid.uuid4()),
        "Content-Type": "application/json",
    },`
        : `
    headers={"Authorization": ${authorization}},`
    }
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`
    },
  },
} as const satisfies Record<string, { title: string; write: (example: Example) => string }>

export type Language = keyof typeof languages

export const languageTitles = Object.entries(languages).map(([name, { title }]) => [name as Language, title] as const)

export function requestIn(language: Language, example: Example): string {
  return languages[language].write(example)
}

export function exampleRequest(endpoint: Documented, language: Language, baseUrl: string): string {
  const url = baseUrl + endpoint.path + exampleSearch(endpoint)
  return requestIn(language, { url, body: exampleBody(endpoint) })
}
