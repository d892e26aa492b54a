import type { z } from "zod"
import { refuseAs } from "./errors"
import { expectation } from "./query"
import { joined, ours, quoted, type Said, said } from "./said"

export const maxBodyBytes = 64 * 1024

/** The key is checked before the body arrives, so a later revocation does not stop the request. */
const bodyDeadlineMs = 10_000

const maxDepth = 32

type Sent = Pick<Request, "headers" | "body">

/** @throws Refusal 400 or 413 */
export async function readBody<Body extends z.ZodType>(request: Sent, schema: Body): Promise<z.output<Body>> {
  return parseBody(await readBytes(request), schema)
}

/** @throws Refusal 400 or 413 */
export async function readJson(request: Sent): Promise<unknown> {
  return parseBytes(await readBytes(request))
}

/** @throws Refusal 400 */
export function parseBody<Body extends z.ZodType>(bytes: Buffer, schema: Body): z.output<Body> {
  return validated(parseBytes(bytes), schema)
}

/** @param at the field of the body that has the value; none for a whole body. @throws Refusal 400 that names the field */
export function validated<Body extends z.ZodType>(
  value: unknown,
  schema: Body,
  at: readonly string[] = [],
): z.output<Body> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return refuseAs("bad_request", issue ? messageOf(issue, value, at) : said`The body is invalid.`)
}

function parseBytes(bytes: Buffer): unknown {
  const text = decode(bytes)
  const value = parseJson(text)
  refuseDuplicates(text)
  return value
}

function checkType(headers: Headers): void {
  const type = headers.get("content-type")
  if (type && !/^application\/json *(; *(charset="?utf-?8"? *)?)*$/i.test(type)) {
    refuseAs("bad_request", said`Send the body as JSON in UTF-8, with Content-Type: application/json.`)
  }
  const encoding = headers.get("content-encoding")
  if (encoding && encoding.toLowerCase() !== "identity") {
    refuseAs("bad_request", said`Send the body without Content-Encoding; compressed bodies are not supported.`)
  }
  const transfer = headers.get("transfer-encoding")
  if (transfer && transfer.toLowerCase() !== "chunked") {
    refuseAs(
      "bad_request",
      said`Send the body with no Transfer-Encoding other than chunked; compressed bodies are not supported.`,
    )
  }
}

/** Counts the bytes while reading, because Content-Length may be wrong or missing. @throws Refusal 400 or 413 */
export async function readBytes(request: Sent, maxBytes = maxBodyBytes): Promise<Buffer> {
  checkType(request.headers)
  const contentLength = Number(request.headers.get("content-length") ?? 0)
  if (contentLength > maxBytes) refuseSize(maxBytes)
  const reader = request.body?.getReader()
  let timedOut = false
  const deadline = setTimeout(() => {
    timedOut = true
    reader?.cancel().catch(() => {})
  }, bodyDeadlineMs)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      size += part.value.byteLength
      if (size > maxBytes) break
      chunks.push(part.value)
    }
  } catch {
    // The client closed the connection; its ECONNRESET must not be reported as a database failure.
    refuseAs("bad_request", said`The body was cut off before its end.`)
  } finally {
    clearTimeout(deadline)
  }
  if (size > maxBytes) refuseSize(maxBytes)
  if (timedOut) refuseAs("bad_request", said`The body did not arrive within ${bodyDeadlineMs / 1000} seconds.`)
  return Buffer.concat(chunks)
}

function refuseSize(maxBytes: number): never {
  // The rest of the body is never read, so the connection cannot carry another request.
  return refuseAs("payload_too_large", said`A body can have at most ${maxBytes} bytes.`, { Connection: "close" })
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return refuseAs("bad_request", said`The body is not valid UTF-8.`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return refuseAs("bad_request", text === "" ? said`Send a JSON body.` : said`The body is not valid JSON.`)
  }
}

/** JSON.parse silently keeps the last of two fields with the same name. */
function refuseDuplicates(json: string): void {
  const objects: (Set<string> | null)[] = []
  for (const [token, text, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*(:?)|[{}[\]]/g)) {
    if (token === "{" || token === "[") objects.push(token === "{" ? new Set() : null)
    else if (token === "}" || token === "]") objects.pop()
    else if (text && colon) {
      const name: string = JSON.parse(text)
      const names = objects.at(-1)
      if (names?.has(name)) refuseAs("bad_request", said`The body has the field ${quoted(name)} more than once.`)
      names?.add(name)
    }
    if (objects.length > maxDepth) refuseAs("bad_request", said`The body is nested deeper than ${maxDepth} levels.`)
  }
}

function messageOf(issue: z.core.$ZodIssue, body: unknown, at: readonly string[]): Said {
  const path = [...at, ...issue.path]
  if (issue.code === "unrecognized_keys")
    return said`Unknown field ${joined(issue.keys.map((name) => quoted([...path, name].join("."))))} in the body.`
  const field = path.join(".") || ours("The body")
  if (issue.code === "invalid_type") return said`${field} must be ${ours(typeNames[issue.expected] ?? issue.expected)}.`
  return said`${field} ${expectation(issue, body)}.`
}

const typeNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "an array",
  object: "a JSON object",
  nonoptional: "given",
}
