import { afterEach, beforeAll, expect, test } from "vitest"
import { db } from "@/lib/postgres/prisma"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { POST } from "./route"

// What the endpoint does with bodies that are not what it takes; lib/api/body.test.ts says it of bodies in general.

let caller: { id: string; secret: string }

beforeAll(async () => {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  caller = { id: user.id, secret: (await createKey({ user, surface: "user" })).secret }
})

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([])
})

type Sent = string | Uint8Array<ArrayBuffer> | ReadableStream

async function post(body: Sent, headers: Record<string, string> = {}, search = "") {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body
  const response = await POST(
    new Request(`http://localhost:3000/api/v1/me/run${search}`, {
      method: "POST",
      headers: { "x-api-key": caller.secret, ...headers },
      body: bytes,
      duplex: "half",
    } as RequestInit),
  )
  return { status: response.status, body: await response.json() }
}

async function expectRefusal(answer: ReturnType<typeof post>, status: number, code: string, message: RegExp) {
  const before = await stored()
  expect(await answer).toEqual({ status, body: { error: { code, message: expect.stringMatching(message) } } })
  expect(await stored()).toEqual(before)
}

/** Nothing of a refused call is kept: no run, no entry, no credit held. */
function stored() {
  const where = { userId: caller.id }
  return Promise.all([
    db().run.count({ where }),
    db().creditEntry.count({ where }),
    db().creditAccount.findMany({ where }),
  ])
}

function quoted(text: string) {
  return JSON.stringify({ text })
}

test.each([
  ["a text", quoted("A word.")],
  ["a byte order mark before it", `\uFEFF${quoted("A word.")}`],
  ["escapes", '{"te\\u0078t":"\\u0041 word."}'],
  ["a character in two escapes", '{"text":"\\ud83d\\ude00"}'],
  ["a text without a word", quoted("… — !")],
  ["a text of blanks", quoted("   ")],
  ["1,000 words", quoted("word ".repeat(1_000))],
  ["20,000 characters", quoted("a".repeat(20_000))],
  ["20,000 characters of which one takes two units", quoted(`😀${"a".repeat(19_999)}`)],
  ["16,000 emoji, 32,000 units of UTF-16", quoted("😀".repeat(16_000))],
  ["what is harmless as text", quoted("'; DROP TABLE runs; -- <script>1</script> %00 __proto__")],
])("%s is taken", async (_what, body) => {
  const answer = await post(body)
  expect(answer.status).toBe(200)
  expect(answer.body.data).toMatchObject({ cost: expect.any(Number), result: { words: expect.any(Number) } })
})

test.each([
  ["100 words", 100, 1],
  ["101 words", 101, 2],
  ["900 words", 900, 9],
  ["901 words", 901, 10],
  ["1,000 words", 1_000, 10],
])("%s cost a credit for each hundred that was begun", async (_what, words, cost) => {
  const answer = await post(quoted("word ".repeat(words)))
  expect(answer.body.data).toMatchObject({ cost, result: { words } })
})

test.each([
  ["an empty text", quoted(""), /^text must not be empty\.$/],
  ["1,001 words", quoted("word ".repeat(1_001)), /^text must have at most 1000 words/],
  ["20,001 characters", quoted("a".repeat(20_001)), /^text must have at most 20000 characters\.$/],
  ["20,001 characters of one emoji and letters", quoted(`😀${"a".repeat(20_000)}`), /at most 20000 characters/],
  ["20,001 words", quoted("a ".repeat(20_001)), /at most 20000 characters/],
  ["NUL, escaped", '{"text":"a\\u0000b"}', /^text must be valid Unicode text without NUL\.$/],
  ["NUL, raw", '{"text":"a\0b"}', /not valid JSON/],
  ["the first half of a character, escaped", '{"text":"a\\ud83d"}', /valid Unicode text/],
  ["the second half of a character, escaped", '{"text":"\\ude00b"}', /valid Unicode text/],
  ["halves in the wrong order", '{"text":"\\ude00\\ud83d"}', /valid Unicode text/],
  ["no body", "", /^Send a JSON body\.$/],
  ["null", "null", /must be a JSON object/],
  ["an array", '["text"]', /must be a JSON object/],
  ["a bare text", '"text"', /must be a JSON object/],
  ["something after the body", `${quoted("x")},`, /not valid JSON/],
  ["a number for the text", '{"text":1}', /^text must be a string\.$/],
  ["no text", "{}", /^text must be a string\.$/],
  ["a text twice", '{"text":"a","text":"b"}', /"text" more than once/],
  ["a text twice, once escaped", '{"text":"a","te\\u0078t":"b"}', /"text" more than once/],
  ["a cost", '{"text":"a","cost":0}', /^Unknown field "cost"/],
  ["a maximum cost", '{"text":"a","maxCost":1}', /^Unknown field "maxCost"/],
  ["an account", '{"text":"a","userId":"x"}', /^Unknown field "userId"/],
  ["a balance", '{"text":"a","balance":1e9}', /^Unknown field "balance"/],
  ["a state", '{"text":"a","state":"settled"}', /^Unknown field "state"/],
  ["__proto__", '{"text":"a","__proto__":{"cost":0}}', /^Unknown field "__proto__"/],
  ["constructor", '{"text":"a","constructor":{"prototype":{"cost":0}}}', /^Unknown field "constructor"/],
  ["30,000 levels", `{"text":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, /nested deeper than 32 levels/],
])("%s is 400, and nothing is reserved", async (_what, body, message) => {
  await expectRefusal(post(body), 400, "bad_request", message)
})

test.each([
  ["100,000 levels", "[".repeat(100_000)],
  ["a million characters", quoted("a".repeat(1_000_000))],
  ["20,000 emoji, 80,000 bytes", quoted("😀".repeat(20_000))],
])("%s are 413, and nothing is reserved", async (_what, body) => {
  await expectRefusal(post(body), 413, "payload_too_large", /at most 65536 bytes/)
})

test("a body without an end is 413 once it is longer than a body may be, and read no further", async () => {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1_024
      controller.enqueue(new Uint8Array(1_024).fill(0x20))
    },
  })
  await expectRefusal(post(body), 413, "payload_too_large", /at most 65536 bytes/)
  expect(sent).toBeLessThanOrEqual(64 * 1_024 + 3 * 1_024)
})

test("a body that breaks off is 400, and nothing is reserved", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"text":"a"'))
    },
    pull(controller) {
      controller.error(Object.assign(new Error("aborted"), { code: "ECONNRESET" }))
    },
  })
  await expectRefusal(post(body), 400, "bad_request", /broke off/)
})

test("bytes that are not UTF-8 are 400, and nothing is reserved", async () => {
  const body = new Uint8Array([...Buffer.from('{"text":"a'), 0xff, ...Buffer.from('"}')])
  await expectRefusal(post(body), 400, "bad_request", /not valid UTF-8/)
})

test.each([
  [{ "content-type": "text/plain" }, /Content-Type: application\/json/],
  [{ "content-type": "application/x-www-form-urlencoded" }, /Content-Type: application\/json/],
  [{ "content-type": "multipart/form-data; boundary=x" }, /Content-Type: application\/json/],
  [{ "content-type": "application/json; charset=latin1" }, /in UTF-8/],
  [{ "content-encoding": "gzip" }, /without Content-Encoding/],
])("%j is 400, and nothing is reserved", async (headers, message) => {
  await expectRefusal(post(quoted("x"), headers), 400, "bad_request", message)
})

test.each(["?text=x", "?limit=1", "?maxCost=0", "?text=x&text=y"])(
  "the query %s is 400, and nothing is reserved",
  async (search) => {
    await expectRefusal(post(quoted("x"), {}, search), 400, "bad_request", /parameter/i)
  },
)
