import { afterEach, expect, onTestFinished, test, vi } from "vitest"
import { z } from "zod"
import { maxBodyBytes, readBody } from "./body"

const schema = z.strictObject({
  text: z.string(),
  more: z.strictObject({ count: z.int(), exact: z.boolean() }).optional(),
  list: z.array(z.unknown()).optional(),
})

type Sent = string | Uint8Array<ArrayBuffer> | ReadableStream

function read(body: Sent, headers: Record<string, string> = { "content-type": "application/json" }) {
  // Bytes have no type of their own; a string would be sent as text/plain.
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
  ["an object of the schema", '{"text":"x"}'],
  ["with blanks around it", ' \r\n\t{ "text" : "x" } \n'],
  ["with a byte order mark", '\uFEFF{"text":"x"}'],
  ["with escapes in a name", '{"te\\u0078t":"x"}'],
])("%s is read", async (_what, body) => {
  expect(await read(body)).toEqual({ text: "x" })
})

test("names that repeat in other objects, in strings and as values are no duplicates", async () => {
  const body = {
    text: '{"text":"text","text":1}',
    more: { count: 1, exact: true },
    list: [{ a: 1 }, { a: "a" }, ["a"]],
  }
  expect(await read(JSON.stringify(body))).toEqual(body)
  expect(await read('{"text":"\\\\","list":["\\"",{"text":"}"}]}')).toMatchObject({ text: "\\" })
})

test.each([
  ["nothing", "", "Send a JSON body."],
  ["blanks", "  ", "The body is not valid JSON."],
  ["two byte order marks", '\uFEFF\uFEFF{"text":"x"}', "The body is not valid JSON."],
  ["null", "null", "The body must be a JSON object."],
  ["an array", "[]", "The body must be a JSON object."],
  ["a string", '"x"', "The body must be a JSON object."],
  ["a number", "1", "The body must be a JSON object."],
  ["true", "true", "The body must be a JSON object."],
  ["NaN", "NaN", "The body is not valid JSON."],
  ["a word", "undefined", "The body is not valid JSON."],
  ["half an object", '{"text":"x"', "The body is not valid JSON."],
  ["something after the object", '{"text":"x"}x', "The body is not valid JSON."],
  ["NUL after the object", '{"text":"x"}\0', "The body is not valid JSON."],
  ["two objects", '{"text":"x"}{"text":"x"}', "The body is not valid JSON."],
  ["a comma too many", '{"text":"x",}', "The body is not valid JSON."],
  ["single quotes", "{'text':'x'}", "The body is not valid JSON."],
  ["a comment", '{"text":"x"/**/}', "The body is not valid JSON."],
  ["a raw line feed in a string", '{"text":"a\nb"}', "The body is not valid JSON."],
  ["a form", "text=x", "The body is not valid JSON."],
  ["no field", "{}", "text must be a string."],
  ["null for a field", '{"text":null}', "text must be a string."],
  ["a number for a string", '{"text":1}', "text must be a string."],
  ["an array for a string", '{"text":["x"]}', "text must be a string."],
  ["an object for a string", '{"text":{"toString":"x"}}', "text must be a string."],
  ["a number as a string", '{"text":"x","more":{"count":"1","exact":true}}', "more.count must be a number."],
  ["a fraction", '{"text":"x","more":{"count":1.5,"exact":true}}', "more.count must be an integer."],
  ["1 for true", '{"text":"x","more":{"count":1,"exact":1}}', "more.exact must be true or false."],
  ["a number beyond all", '{"text":"x","more":{"count":1e400,"exact":true}}', /^more\.count must be/],
  ["a number that is not exact", '{"text":"x","more":{"count":12345678901234567890,"exact":true}}', /^more\.count /],
  ["a field of ours", '{"text":"x","userId":"1"}', 'Unknown field "userId" in the body.'],
  ["fields of ours", '{"cost":0,"text":"x","maxCost":0}', 'Unknown field "cost", "maxCost" in the body.'],
  ["a field within a field", '{"text":"x","more":{"count":1,"exact":true,"a":1}}', 'Unknown field "a" in the body.'],
  ["a field in capitals", '{"Text":"x"}', "text must be a string."],
  ["a name of 60,000 characters", `{"text":"x","${"n".repeat(60_000)}":1}`, /^Unknown field "n{60}…" in the body\.$/],
  ["__proto__", '{"text":"x","__proto__":{"polluted":true}}', /^Unknown field "__proto__"/],
  ["only __proto__", '{"__proto__":{"text":"x"}}', "text must be a string."],
  [
    "__proto__ in an object",
    '{"text":"x","more":{"count":1,"exact":true,"__proto__":{}}}',
    /^Unknown field "__proto__"/,
  ],
  [
    "constructor",
    '{"text":"x","constructor":{"prototype":{"polluted":1}}}',
    'Unknown field "constructor" in the body.',
  ],
  ["a field twice", '{"text":"x","text":"y"}', 'The body has the field "text" more than once.'],
  ["a field twice with one value", '{"text":"x", "text" : "x"}', 'The body has the field "text" more than once.'],
  ["a field twice, once escaped", '{"text":"x","te\\u0078t":"y"}', 'The body has the field "text" more than once.'],
  [
    "a field twice in an object within",
    '{"text":"x","more":{"count":1,"exact":true,"count":2}}',
    'The body has the field "count" more than once.',
  ],
  [
    "a field twice around an object",
    '{"text":"x","more":{"count":1,"exact":true},"text":"y"}',
    'The body has the field "text" more than once.',
  ],
  [
    "a field twice in an object of an array",
    '{"text":"x","list":[{"a":1},{"b":[{}],"b":2}]}',
    'The body has the field "b" more than once.',
  ],
  ["a field twice whose name is like code", '{"__proto__":1,"__proto__":2}', /"__proto__" more than once/],
  ["arrays 32,000 deep", "[".repeat(32_000) + "]".repeat(32_000), "The body is nested deeper than 32 levels."],
  ["objects 10,000 deep", '{"a":'.repeat(10_000) + 1 + "}".repeat(10_000), "The body is nested deeper than 32 levels."],
  ["65,000 arrays that do not end", "[".repeat(65_000), "The body is not valid JSON."],
  ["a field 33 deep", `{"text":"x","list":${"[".repeat(32)}${"]".repeat(32)}}`, /nested deeper/],
  ["65,000 quotation marks", '"'.repeat(65_000), "The body is not valid JSON."],
  ["65,001 backslashes", `{"text":"${"\\".repeat(65_001)}x"}`, "The body is not valid JSON."],
])("%s is refused, and the message says why", async (_what, body, message) => {
  await expect(read(body)).rejects.toThrow(
    refusal(400, typeof message === "string" ? message : expect.stringMatching(message)),
  )
})

test("32 levels are read", async () => {
  const deep = `{"text":"x","list":${"[".repeat(31)}${"]".repeat(31)}}`
  expect(await read(deep)).toMatchObject({ text: "x" })
})

test.each([
  ["a byte that no character has", [0xff]],
  ["half a character", [0xe2, 0x82]],
  ["an overlong character", [0xc0, 0xaf]],
  ["a surrogate", [0xed, 0xa0, 0x80]],
  ["UTF-16", [0xff, 0xfe, 0x7b, 0x00]],
])("%s is refused as invalid UTF-8, and nothing is read into it", async (_what, bytes) => {
  const body = Buffer.concat([Buffer.from('{"text":"'), Buffer.from(bytes), Buffer.from('"}')])
  await expect(read(new Uint8Array(body))).rejects.toThrow(refusal(400, "The body is not valid UTF-8."))
})

test.each([
  undefined,
  "application/json",
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  'Application/JSON ; charset="utf-8"',
])("Content-Type %s is taken", async (type) => {
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
])("Content-Type %s is refused", async (type) => {
  await expect(read('{"text":"x"}', { "content-type": type })).rejects.toThrow(
    refusal(400, "Send the body as JSON in UTF-8, with Content-Type: application/json."),
  )
})

test.each(["gzip", "br", "deflate", "identity, gzip", "aes128gcm"])(
  "Content-Encoding %s is refused",
  async (encoding) => {
    await expect(read('{"text":"x"}', { "content-encoding": encoding })).rejects.toThrow(
      refusal(400, "Send the body without Content-Encoding: it is not decompressed."),
    )
  },
)

test("Content-Encoding identity is taken", async () => {
  expect(await read('{"text":"x"}', { "content-encoding": "Identity" })).toEqual({ text: "x" })
})

/** Who is told so has to know that nothing can follow on the connection: the rest of the body is in the way. */
const tooLarge = expect.objectContaining({
  ...{ status: 413, code: "payload_too_large", message: "A body has at most 65536 bytes." },
  headers: { Connection: "close" },
})

test("a body of the most bytes is read, and of one more refused", async () => {
  const body = `{"text":"${"x".repeat(maxBodyBytes - 11)}"}`
  expect(body).toHaveLength(maxBodyBytes)
  expect((await read(body)).text).toHaveLength(maxBodyBytes - 11)
  await expect(read(`${body} `)).rejects.toThrow(tooLarge)
})

/** What a client sends without an end, and how much of it was taken. */
function endless(chunkBytes: number) {
  const taken = { bytes: 0 }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        taken.bytes += chunkBytes
        controller.enqueue(new Uint8Array(chunkBytes).fill(0x20))
      },
    },
    { highWaterMark: 0 },
  )
  return { taken, body }
}

test.each([
  ["without a length", {}],
  ["of which fewer bytes were announced", { "content-length": "10" }],
])("a body without an end, %s, is read up to the limit and no further", async (_how, headers) => {
  const { taken, body } = endless(1_000)
  await expect(read(body, headers)).rejects.toThrow(tooLarge)
  expect(taken.bytes).toBe(66_000)
})

test("of a body that is announced as too large nothing is read", async () => {
  const { taken, body } = endless(1_000)
  await expect(read(body, { "content-length": "65537" })).rejects.toThrow(tooLarge)
  expect(taken.bytes).toBe(0)
})

test("a body that breaks off is the client's failure", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"text":'))
    },
    pull(controller) {
      controller.error(Object.assign(new Error("aborted"), { code: "ECONNRESET" }))
    },
  })
  await expect(read(body)).rejects.toThrow(refusal(400, "The body broke off before its end."))
})

test("a body that does not arrive in time is given up, and not read any longer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  let cancelled = false
  const silent = new ReadableStream({
    cancel() {
      cancelled = true
    },
  })
  const response = expect(read(silent)).rejects.toThrow(refusal(400, "The body did not arrive within 10 seconds."))
  await vi.advanceTimersByTimeAsync(10_000)
  await response
  expect(cancelled).toBe(true)
})
