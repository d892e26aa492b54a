import { afterEach, expect, onTestFinished, test, vi } from "vitest"
import { z } from "zod"
import { maxBodyBytes, readBody } from "./body"

const schema = z.strictObject({
  text: z.string(),
  more: z.strictObject({ count: z.int(), exact: z.boolean() }).optional(),
  list: z.array(z.unknown()).optional(),
})

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream

function read(body: Body, headers: Record<string, string> = { "content-type": "application/json" }) {
  // A string body would set Content-Type to text/plain; bytes set none.
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body
  return readBody(
    new Request("http://localhost:3000/", { method: "POST", headers, body: bytes, duplex: "half" } as RequestInit),
    schema,
  )
}

function refusal(status: 400, message: unknown) {
  return expect.objectContaining({ status, code: "bad_request", message })
}

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test.each([
  ["an object that matches the schema", '{"text":"x"}'],
  ["an object with surrounding whitespace", ' \r\n\t{ "text" : "x" } \n'],
  ["an object after a byte order mark", '\uFEFF{"text":"x"}'],
  ["an object with an escape sequence in a field name", '{"te\\u0078t":"x"}'],
])("%s is accepted", async (_case, body) => {
  expect(await read(body)).toEqual({ text: "x" })
})

test("a field name that repeats in another object, in a string or as a value is not a duplicate", async () => {
  const body = {
    text: '{"text":"text","text":1}',
    more: { count: 1, exact: true },
    list: [{ a: 1 }, { a: "a" }, ["a"]],
  }
  expect(await read(JSON.stringify(body))).toEqual(body)
  expect(await read('{"text":"\\\\","list":["\\"",{"text":"}"}]}')).toMatchObject({ text: "\\" })
})

test.each([
  ["an empty body", "", "Send a JSON body."],
  ["whitespace only", "  ", "The body is not valid JSON."],
  ["two byte order marks", '\uFEFF\uFEFF{"text":"x"}', "The body is not valid JSON."],
  ["null", "null", "The body must be a JSON object."],
  ["an array", "[]", "The body must be a JSON object."],
  ["a string", '"x"', "The body must be a JSON object."],
  ["a number", "1", "The body must be a JSON object."],
  ["true", "true", "The body must be a JSON object."],
  ["NaN", "NaN", "The body is not valid JSON."],
  ["a word", "undefined", "The body is not valid JSON."],
  ["half an object", '{"text":"x"', "The body is not valid JSON."],
  ["text after the object", '{"text":"x"}x', "The body is not valid JSON."],
  ["NUL after the object", '{"text":"x"}\0', "The body is not valid JSON."],
  ["two objects", '{"text":"x"}{"text":"x"}', "The body is not valid JSON."],
  ["a trailing comma", '{"text":"x",}', "The body is not valid JSON."],
  ["single quotes", "{'text':'x'}", "The body is not valid JSON."],
  ["a comment", '{"text":"x"/**/}', "The body is not valid JSON."],
  ["a raw line feed in a string", '{"text":"a\nb"}', "The body is not valid JSON."],
  ["a URL-encoded form", "text=x", "The body is not valid JSON."],
  ["a missing field", "{}", "text must be a string."],
  ["null for a field", '{"text":null}', "text must be a string."],
  ["a number for a string", '{"text":1}', "text must be a string."],
  ["an array for a string", '{"text":["x"]}', "text must be a string."],
  ["an object for a string", '{"text":{"toString":"x"}}', "text must be a string."],
  ["a string for a number", '{"text":"x","more":{"count":"1","exact":true}}', "more.count must be a number."],
  ["a fraction for an integer", '{"text":"x","more":{"count":1.5,"exact":true}}', "more.count must be an integer."],
  ["1 for a boolean", '{"text":"x","more":{"count":1,"exact":1}}', "more.exact must be true or false."],
  ["a number that overflows to Infinity", '{"text":"x","more":{"count":1e400,"exact":true}}', /^more\.count must be/],
  [
    "an integer beyond the safe range",
    '{"text":"x","more":{"count":12345678901234567890,"exact":true}}',
    /^more\.count /,
  ],
  ["an unknown field", '{"text":"x","userId":"1"}', 'Unknown field "userId" in the body.'],
  ["two unknown fields", '{"cost":0,"text":"x","maxCost":0}', 'Unknown field "cost", "maxCost" in the body.'],
  [
    "an unknown field in a nested object",
    '{"text":"x","more":{"count":1,"exact":true,"a":1}}',
    'Unknown field "more.a" in the body.',
  ],
  ["a field name in the wrong case", '{"Text":"x"}', "text must be a string."],
  [
    "an unknown field with a name of 60,000 characters",
    `{"text":"x","${"n".repeat(60_000)}":1}`,
    /^Unknown field "n{60}…" in the body\.$/,
  ],
  ["an extra field __proto__", '{"text":"x","__proto__":{"polluted":true}}', /^Unknown field "__proto__"/],
  ["__proto__ as the only field", '{"__proto__":{"text":"x"}}', "text must be a string."],
  [
    "__proto__ in a nested object",
    '{"text":"x","more":{"count":1,"exact":true,"__proto__":{}}}',
    /^Unknown field "more\.__proto__"/,
  ],
  [
    "an extra field constructor",
    '{"text":"x","constructor":{"prototype":{"polluted":1}}}',
    'Unknown field "constructor" in the body.',
  ],
  ["a duplicate field", '{"text":"x","text":"y"}', 'The body has the field "text" more than once.'],
  [
    "a duplicate field with the same value",
    '{"text":"x", "text" : "x"}',
    'The body has the field "text" more than once.',
  ],
  [
    "a duplicate field, escaped the second time",
    '{"text":"x","te\\u0078t":"y"}',
    'The body has the field "text" more than once.',
  ],
  [
    "a duplicate field in a nested object",
    '{"text":"x","more":{"count":1,"exact":true,"count":2}}',
    'The body has the field "count" more than once.',
  ],
  [
    "a duplicate field before and after a nested object",
    '{"text":"x","more":{"count":1,"exact":true},"text":"y"}',
    'The body has the field "text" more than once.',
  ],
  [
    "a duplicate field in an object of an array",
    '{"text":"x","list":[{"a":1},{"b":[{}],"b":2}]}',
    'The body has the field "b" more than once.',
  ],
  ["a duplicate field __proto__", '{"__proto__":1,"__proto__":2}', /"__proto__" more than once/],
  ["arrays 32,000 deep", "[".repeat(32_000) + "]".repeat(32_000), "The body is nested deeper than 32 levels."],
  ["objects 10,000 deep", '{"a":'.repeat(10_000) + 1 + "}".repeat(10_000), "The body is nested deeper than 32 levels."],
  ["65,000 unclosed arrays", "[".repeat(65_000), "The body is not valid JSON."],
  ["an array nested 33 levels deep", `{"text":"x","list":${"[".repeat(32)}${"]".repeat(32)}}`, /nested deeper/],
  ["65,000 quotation marks", '"'.repeat(65_000), "The body is not valid JSON."],
  ["65,001 backslashes", `{"text":"${"\\".repeat(65_001)}x"}`, "The body is not valid JSON."],
])("%s is refused, and the message states the reason", async (_case, body, message) => {
  await expect(read(body)).rejects.toThrow(
    refusal(400, typeof message === "string" ? message : expect.stringMatching(message)),
  )
})

test("a body nested 32 levels deep is accepted", async () => {
  const deep = `{"text":"x","list":${"[".repeat(31)}${"]".repeat(31)}}`
  expect(await read(deep)).toMatchObject({ text: "x" })
})

test.each([
  ["a byte that never occurs in UTF-8", [0xff]],
  ["a truncated character", [0xe2, 0x82]],
  ["an overlong encoding", [0xc0, 0xaf]],
  ["a surrogate", [0xed, 0xa0, 0x80]],
  ["UTF-16", [0xff, 0xfe, 0x7b, 0x00]],
])("%s is refused as invalid UTF-8 instead of being replaced", async (_case, bytes) => {
  const body = Buffer.concat([Buffer.from('{"text":"'), Buffer.from(bytes), Buffer.from('"}')])
  await expect(read(new Uint8Array(body))).rejects.toThrow(refusal(400, "The body is not valid UTF-8."))
})

test.each([
  undefined,
  "application/json",
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  'Application/JSON ; charset="utf-8"',
  "application/json;",
  "application/json; charset=utf8",
  "application/json;; charset=UTF-8;",
])("Content-Type %s is accepted", async (type) => {
  expect(await read('{"text":"x"}', type ? { "content-type": type } : {})).toEqual({ text: "x" })
})

test.each([
  "text/plain",
  "text/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/xml",
  "application/jsonp",
  "application/json, text/plain",
  "application/json; charset=latin1",
  "application/json; charset=utf-16",
  // Would take for ever if there were two ways to read a blank.
  `application/json${"; ".repeat(5_000)}x`,
])("Content-Type %s is refused", async (type) => {
  await expect(read('{"text":"x"}', { "content-type": type })).rejects.toThrow(
    refusal(400, "Send the body as JSON in UTF-8, with Content-Type: application/json."),
  )
})

test.each(["gzip", "br", "deflate", "identity, gzip", "aes128gcm"])(
  "Content-Encoding %s is refused",
  async (encoding) => {
    await expect(read('{"text":"x"}', { "content-encoding": encoding })).rejects.toThrow(
      refusal(400, "Send the body without Content-Encoding; compressed bodies are not supported."),
    )
  },
)

test("Content-Encoding identity is accepted", async () => {
  expect(await read('{"text":"x"}', { "content-encoding": "Identity" })).toEqual({ text: "x" })
})

/** Closes the connection: the unread rest of the body would be parsed as the next request. */
const tooLarge = expect.objectContaining({
  ...{ status: 413, code: "payload_too_large", message: "A body can have at most 65536 bytes." },
  headers: { Connection: "close" },
})

test("a body of the maximum size is accepted, and one byte more is refused", async () => {
  const body = `{"text":"${"x".repeat(maxBodyBytes - 11)}"}`
  expect(body).toHaveLength(maxBodyBytes)
  expect((await read(body)).text).toHaveLength(maxBodyBytes - 11)
  await expect(read(`${body} `)).rejects.toThrow(tooLarge)
})

/** A body without an end, and the number of its bytes that were read. */
function endless(chunkBytes: number) {
  const consumed = { bytes: 0 }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        consumed.bytes += chunkBytes
        controller.enqueue(new Uint8Array(chunkBytes).fill(0x20))
      },
    },
    { highWaterMark: 0 },
  )
  return { consumed, body }
}

test.each([
  ["without a Content-Length", {}],
  ["with a Content-Length that is too small", { "content-length": "10" }],
])("a body without an end, %s, is read only up to the limit", async (_case, headers) => {
  const { consumed, body } = endless(1_000)
  await expect(read(body, headers)).rejects.toThrow(tooLarge)
  expect(consumed.bytes).toBe(66_000)
})

test("a body whose Content-Length is too large is refused without reading it", async () => {
  const { consumed, body } = endless(1_000)
  await expect(read(body, { "content-length": "65537" })).rejects.toThrow(tooLarge)
  expect(consumed.bytes).toBe(0)
})

test("a body that is cut off returns 400", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"text":'))
    },
    pull(controller) {
      controller.error(Object.assign(new Error("aborted"), { code: "ECONNRESET" }))
    },
  })
  await expect(read(body)).rejects.toThrow(refusal(400, "The body was cut off before its end."))
})

test("a body that does not arrive in time is refused, and reading it stops", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  let cancelled = false
  const stalled = new ReadableStream({
    cancel() {
      cancelled = true
    },
  })
  const refused = expect(read(stalled)).rejects.toThrow(refusal(400, "The body did not arrive within 10 seconds."))
  await vi.advanceTimersByTimeAsync(10_000)
  await refused
  expect(cancelled).toBe(true)
})
