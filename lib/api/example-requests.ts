import { type Documented, exampleBody, exampleSearch } from "./document"
import { idempotencyKeyHeader } from "./idempotency-key"

type Example = { url: string; body: Record<string, unknown> | undefined }

/**
 * The languages of the example requests. The examples need only the standard library and read the key from `TSK_KEY`;
 * metered calls generate a new idempotency key each time.
 */
const languages = {
  curl: {
    title: "curl",
    write: ({ url, body }) => {
      const lines = [`curl "${url}"`, `-H "Authorization: Bearer $TSK_KEY"`]
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
    write: ({ url, body }) => `const response = await fetch("${url}", {${
      body
        ? `
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.TSK_KEY}\`,
    "${idempotencyKeyHeader}": crypto.randomUUID(),
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${JSON.stringify(body)}),`
        : `
  headers: { Authorization: \`Bearer \${process.env.TSK_KEY}\` },`
    }
})
if (!response.ok) throw new Error(await response.text())
console.log(await response.json())`,
  },
  python: {
    title: "Python",
    write: ({ url, body }) => `import json, os, urllib.request${body ? ", uuid" : ""}

request = urllib.request.Request(
    "${url}",${
      body
        ? `
    data=json.dumps(${JSON.stringify(body)}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["TSK_KEY"],
        "${idempotencyKeyHeader}": str(uuid.uuid4()),
        "Content-Type": "application/json",
    },`
        : `
    headers={"Authorization": "Bearer " + os.environ["TSK_KEY"]},`
    }
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`,
  },
} as const satisfies Record<string, { title: string; write: (example: Example) => string }>

export type Language = keyof typeof languages

export const languageTitles = Object.entries(languages).map(([name, { title }]) => [name as Language, title] as const)

/** The example request of an endpoint in a language. */
export function exampleRequest(endpoint: Documented, language: Language, baseUrl: string): string {
  const url = baseUrl + endpoint.path + exampleSearch(endpoint)
  return languages[language].write({ url, body: exampleBody(endpoint) })
}
