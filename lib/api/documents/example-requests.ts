import { keyVariable } from "@/lib/product"
import { idempotencyKeyHeader } from "../idempotency-key"
import { limitBounds } from "../parameters"
import { type Documented, exampleBody, exampleSearch } from "./document"

/** `isMetered`: with an idempotency key. */
type Example = { url: string; body?: Record<string, unknown> | undefined; isMetered?: boolean; key?: string }
type Call = Required<Pick<Example, "url" | "body">>

/** All use only the standard library. */
type Writers = {
  title: string
  /** A metered call generates a new idempotency key each time. */
  write: (example: Example) => string
  /** Repeats a call with the same idempotency key until there is a response that a retry does not change. */
  writeRetries: (call: Call) => string
  /** Reads all pages of a list. */
  writePages: (url: string) => string
}

const languages = {
  curl: {
    title: "curl",
    write: ({ url, body, isMetered, key = `$${keyVariable}` }) =>
      curl(url, key, body, isMetered ? `$(${randomHex})` : undefined),
    writeRetries: ({ url, body }) => `idempotency_key=$(${randomHex})
${curl(url, `$${keyVariable}`, body, "$idempotency_key", " --retry 5 --retry-connrefused")}`,
    writePages: (url) => `cursor=
while true; do
  page=$(curl -sS "${url}?limit=${limitBounds.max}\${cursor:+&cursor=$cursor}" \\
    -H "Authorization: Bearer $${keyVariable}")
  printf '%s\\n' "$page"
  cursor=$(printf '%s' "$page" | sed -n 's/.*"nextCursor":"\\([^"]*\\)".*/\\1/p')
  [ "$cursor" ] || break
done`,
  },
  javascript: {
    title: "JavaScript",
    write: ({ url, body, isMetered, key }) =>
      `const response = await fetch("${url}", ${options(body, isMetered ? "crypto.randomUUID()" : undefined, key)})
if (!response.ok) throw new Error(await response.text())
console.log(await response.json())`,
    writeRetries: ({ url, body }) => `const idempotencyKey = crypto.randomUUID()

async function call(attempts = 5) {
  const response = await fetch("${url}", ${indented(options(body, "idempotencyKey"))}).catch(() => undefined)
  if (response?.ok) return response.json()
  const seconds = response ? response.headers.get("Retry-After") : 1
  if (attempts === 1 || seconds === null) throw new Error(await response?.text())
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  return call(attempts - 1)
}

console.log(await call())`,
    writePages: (url) => `const url = new URL("${url}?limit=${limitBounds.max}")
let cursor
do {
  if (cursor) url.searchParams.set("cursor", cursor)
  const response = await fetch(url, ${indented(options())})
  if (!response.ok) throw new Error(await response.text())
  const { data, meta } = await response.json()
  console.log(data)
  cursor = meta.nextCursor
} while (cursor)`,
  },
  python: {
    title: "Python",
    write: ({ url, body, isMetered, key }) =>
      `import json${key ? "" : ", os"}, urllib.request${isMetered ? ", uuid" : ""}

${request(url, body, isMetered ? "str(uuid.uuid4())" : undefined, key)}
with urllib.request.urlopen(request) as response:
    print(json.load(response))`,
    writeRetries: ({ url, body }) => `import json, os, time, urllib.error, urllib.request, uuid

idempotency_key = str(uuid.uuid4())
${request(url, body, "idempotency_key")}
for attempt in range(5):
    seconds = 1
    try:
        with urllib.request.urlopen(request) as response:
            print(json.load(response))
            break
    except urllib.error.HTTPError as error:
        if "Retry-After" not in error.headers:
            raise SystemExit(error.read().decode())
        seconds = int(error.headers["Retry-After"])
    except OSError:
        pass  # The response is lost.
    time.sleep(seconds)
else:
    raise SystemExit("No response to 5 attempts")`,
    writePages: (url) => `import json, os, urllib.request

cursor = ""
while cursor is not None:
    request = urllib.request.Request(
        "${url}?limit=${limitBounds.max}" + (cursor and "&cursor=" + cursor),
        headers={"Authorization": "Bearer " + os.environ["${keyVariable}"]},
    )
    with urllib.request.urlopen(request) as response:
        page = json.load(response)
    print(page["data"])
    cursor = page["meta"]["nextCursor"]`,
  },
} as const satisfies Record<string, Writers>

const randomHex = "od -An -N16 -tx1 /dev/urandom | tr -d ' \\n'"

function curl(url: string, key: string, body: Example["body"], idempotencyKey?: string, settings = ""): string {
  const lines = [`curl${settings} "${url}"`, `-H "Authorization: Bearer ${key}"`]
  if (idempotencyKey) lines.push(`-H "${idempotencyKeyHeader}: ${idempotencyKey}"`)
  if (body) {
    lines.push(`-H "Content-Type: application/json"`, `-d '${JSON.stringify(body).replaceAll("'", "\\u0027")}'`)
  }
  return lines.join(" \\\n  ")
}

/** The second argument of `fetch`. */
function options(body?: Example["body"], idempotencyKey?: string, key?: string): string {
  const authorization = key ? `"Bearer ${key}"` : `\`Bearer \${process.env.${keyVariable}}\``
  if (!body) return `{\n  headers: { Authorization: ${authorization} },\n}`
  const ofCall = idempotencyKey ? `\n    "${idempotencyKeyHeader}": ${idempotencyKey},` : ""
  return `{
  method: "POST",
  headers: {
    Authorization: ${authorization},${ofCall}
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${JSON.stringify(body)}),
}`
}

function indented(code: string): string {
  return code.replaceAll("\n", "\n  ")
}

function request(url: string, body: Example["body"], idempotencyKey?: string, key?: string): string {
  const authorization = key ? `"Bearer ${key}"` : `"Bearer " + os.environ["${keyVariable}"]`
  const ofCall = idempotencyKey ? `\n        "${idempotencyKeyHeader}": ${idempotencyKey},` : ""
  const lines = body
    ? `
    data=json.dumps(${JSON.stringify(body)}).encode(),
    headers={
        "Authorization": ${authorization},${ofCall}
        "Content-Type": "application/json",
    },`
    : `
    headers={"Authorization": ${authorization}},`
  return `request = urllib.request.Request(
    "${url}",${lines}
)`
}

export type Language = keyof typeof languages

export const languageTitles = Object.entries(languages).map(([name, { title }]) => [name as Language, title] as const)

export function requestIn(language: Language, example: Example): string {
  return languages[language].write(example)
}

export function exampleRequest(endpoint: Documented, language: Language, baseUrl: string): string {
  const url = baseUrl + endpoint.path + exampleSearch(endpoint)
  return requestIn(language, { url, body: exampleBody(endpoint), isMetered: endpoint.metered !== undefined })
}

export function exampleRetries(endpoint: Documented, language: Language, baseUrl: string): string {
  return languages[language].writeRetries({ url: baseUrl + endpoint.path, body: exampleBody(endpoint) ?? {} })
}

export function examplePages(endpoint: Documented, language: Language, baseUrl: string): string {
  return languages[language].writePages(baseUrl + endpoint.path)
}
