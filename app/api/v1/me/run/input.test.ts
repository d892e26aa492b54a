import { afterEach, beforeAll, expect, test, vi } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { POST } from "./route"

// Bodies, headers and queries that this endpoint accepts or refuses; lib/api/body.test.ts tests bodies in general.

let caller: { id: string; secret: string }

beforeAll(async () => {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  caller = { id: user.id, secret: (await createKey({ user, surface: "user" })).secret }
})

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([])
})

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream

async function post(body: Body, headers: Record<string, string> = {}, search = "", secret = caller.secret) {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body
  const response = await POST(
    new Request(`http://localhost:3000/api/v1/me/run${search}`, {
      method: "POST",
      headers: { "x-api-key": secret, ...headers },
      body: bytes,
      duplex: "half",
    } as RequestInit),
  )
  return { status: response.status, body: await response.json() }
}

async function expectRefusal(response: ReturnType<typeof post>, status: number, code: string, message: RegExp) {
  const before = await storedState()
  expect(await response).toEqual({ status, body: { error: { code, message: expect.stringMatching(message) } } })
  expect(await storedState()).toEqual(before)
}

/** Everything that a refused call must not change: runs, ledger entries and the credit account. */
function storedState() {
  const where = { userId: caller.id }
  return Promise.all([
    db().run.count({ where }),
    db().creditEntry.count({ where }),
    db().creditAccount.findMany({ where }),
  ])
}

function bodyOf(text: string) {
  return JSON.stringify({ text })
}

test.each([
  ["a text", bodyOf("A word.")],
  ["a text after a byte order mark", `\uFEFF${bodyOf("A word.")}`],
  ["escape sequences", '{"te\\u0078t":"\\u0041 word."}'],
  ["a surrogate pair in two escape sequences", '{"text":"\\ud83d\\ude00"}'],
  ["a text of spaces", bodyOf("   ")],
  ["1,000 words", bodyOf("word ".repeat(1_000))],
  ["20,000 characters", bodyOf("a".repeat(20_000))],
  ["20,000 characters, one of them a surrogate pair", bodyOf(`😀${"a".repeat(19_999)}`)],
  ["16,000 emoji, 32,000 UTF-16 code units", bodyOf("😀".repeat(16_000))],
  ["SQL, HTML and percent escapes as plain text", bodyOf("'; DROP TABLE runs; -- <script>1</script> %00 __proto__")],
])("%s: accepted", async (_case, body) => {
  const response = await post(body)
  expect(response.status).toBe(200)
  expect(response.body.data).toMatchObject({ cost: expect.any(Number), result: { words: expect.any(Number) } })
})

test.each([
  ["100 words", 100, 1],
  ["101 words", 101, 2],
  ["900 words", 900, 9],
  ["901 words", 901, 10],
  ["1,000 words", 1_000, 10],
])("%s: charged 1 credit per 100 words, rounded up", async (_case, words, cost) => {
  const response = await post(bodyOf("word ".repeat(words)))
  expect(response.body.data).toMatchObject({ cost, result: { words } })
})

test.each([
  ["a space", " ", 1],
  ["a text without a word", "… — !", 1],
  ["2,000 line feeds", "\n".repeat(2_000), 1],
  ["2,001 line feeds", "\n".repeat(2_001), 2],
  ["a word of 20,000 characters", "a".repeat(20_000), 10],
  ["4,000 emoji, 8,000 UTF-16 code units", "😀".repeat(4_000), 2],
  ["150 words of 30 characters", `${"a".repeat(29)} `.repeat(150), 3],
])("%s: charged 1 credit per 2,000 characters if that is more, rounded up", async (_case, text, cost) => {
  const response = await post(bodyOf(text))
  expect(response.body.data.cost).toBe(cost)
})

test.each([
  ["an empty text", bodyOf(""), /^text must not be empty\.$/],
  ["20,001 characters", bodyOf("a".repeat(20_001)), /^text must have at most 20000 characters\.$/],
  ["20,001 characters, one of them a surrogate pair", bodyOf(`😀${"a".repeat(20_000)}`), /at most 20000 characters/],
  ["20,001 words", bodyOf("a ".repeat(20_001)), /at most 20000 characters/],
  ["an escaped NUL", '{"text":"a\\u0000b"}', /^text must be valid Unicode text without NUL\.$/],
  ["a raw NUL", '{"text":"a\0b"}', /not valid JSON/],
  ["a lone high surrogate", '{"text":"a\\ud83d"}', /valid Unicode text/],
  ["a lone low surrogate", '{"text":"\\ude00b"}', /valid Unicode text/],
  ["a reversed surrogate pair", '{"text":"\\ude00\\ud83d"}', /valid Unicode text/],
  ["no body", "", /^Send a JSON body\.$/],
  ["null", "null", /must be a JSON object/],
  ["an array", '["text"]', /must be a JSON object/],
  ["a string", '"text"', /must be a JSON object/],
  ["text after the body", `${bodyOf("x")},`, /not valid JSON/],
  ["a number for the text", '{"text":1}', /^text must be a string\.$/],
  ["a missing text", "{}", /^text must be a string\.$/],
  ["a duplicate text", '{"text":"a","text":"b"}', /"text" more than once/],
  ["a duplicate text, escaped the second time", '{"text":"a","te\\u0078t":"b"}', /"text" more than once/],
  ["an unknown field cost", '{"text":"a","cost":0}', /^Unknown field "cost"/],
  ["an unknown field maxCost", '{"text":"a","maxCost":1}', /^Unknown field "maxCost"/],
  ["an unknown field userId", '{"text":"a","userId":"x"}', /^Unknown field "userId"/],
  ["an unknown field balance", '{"text":"a","balance":1e9}', /^Unknown field "balance"/],
  ["an unknown field state", '{"text":"a","state":"settled"}', /^Unknown field "state"/],
  ["an unknown field __proto__", '{"text":"a","__proto__":{"cost":0}}', /^Unknown field "__proto__"/],
  [
    "an unknown field constructor",
    '{"text":"a","constructor":{"prototype":{"cost":0}}}',
    /^Unknown field "constructor"/,
  ],
  ["30,000 nested arrays", `{"text":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, /nested deeper than 32 levels/],
])("%s: returns 400 and reserves nothing", async (_case, body, message) => {
  await expectRefusal(post(body), 400, "bad_request", message)
})

test.each(["-0", "1e400", "true", "null", "[]", "{}", '["a"]'])("the text %s returns 400", async (value) => {
  await expectRefusal(post(`{"text":${value}}`), 400, "bad_request", /^text must be a string\.$/)
})

test.each(["a", " ", "a ", ".", "'", "\\"])("no regular expression is slow on a body full of %j", async (part) => {
  const started = performance.now()
  await expectRefusal(post(bodyOf(part.repeat(30_000))), 400, "bad_request", /at most 20000 characters/)
  expect(performance.now() - started).toBeLessThan(1_000)
})

test.each([
  ["with too low a balance", 9, {}],
  ["beyond its key's limit", 30, { spendLimit: 0, spendPeriod: "month" }],
] as const)("a call %s is refused before its text is segmented", async (_name, balance, limit) => {
  const user = await createUser()
  await grantCredits(user.id, balance)
  const { secret } = await createKey({ user, surface: "user", ...limit })
  const segment = vi.spyOn(Intl.Segmenter.prototype, "segment")
  expect((await post(bodyOf("word ".repeat(900)), {}, "", secret)).status).toBe(402)
  expect(segment).not.toHaveBeenCalled()
})

test("a text with too many words is refused by the work: nothing is charged, and its idempotency key is free", async () => {
  const before = await db().creditAccount.findUniqueOrThrow({ where: { userId: caller.id } })
  const key = { "idempotency-key": "too-many-words" }
  const message = "text must have at most 1000 words."
  const refused = await post(bodyOf("word ".repeat(1_001)), key)
  expect(refused).toEqual({ status: 400, body: { error: { code: "bad_request", message } } })
  const after = await db().creditAccount.findUniqueOrThrow({ where: { userId: caller.id } })
  expect(after.balance).toBe(before.balance)
  expect((await post(bodyOf("A word."), key)).body.data.cost).toBe(1)
})

test.each([
  ["100,000 nested arrays", "[".repeat(100_000)],
  ["a million characters", bodyOf("a".repeat(1_000_000))],
  ["20,000 emoji, 80,000 bytes", bodyOf("😀".repeat(20_000))],
])("%s: returns 413 and reserves nothing", async (_case, body) => {
  await expectRefusal(post(body), 413, "payload_too_large", /at most 65536 bytes/)
})

test("an endless body returns 413 once it exceeds the size limit and is not read further", async () => {
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

test("a truncated body returns 400 and reserves nothing", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"text":"a"'))
    },
    pull(controller) {
      controller.error(Object.assign(new Error("aborted"), { code: "ECONNRESET" }))
    },
  })
  await expectRefusal(post(body), 400, "bad_request", /cut off/)
})

test("a body that is not valid UTF-8 returns 400 and reserves nothing", async () => {
  const body = new Uint8Array([...Buffer.from('{"text":"a'), 0xff, ...Buffer.from('"}')])
  await expectRefusal(post(body), 400, "bad_request", /not valid UTF-8/)
})

test.each([
  [{ "content-type": "text/plain" }, /Content-Type: application\/json/],
  [{ "content-type": "application/x-www-form-urlencoded" }, /Content-Type: application\/json/],
  [{ "content-type": "multipart/form-data; boundary=x" }, /Content-Type: application\/json/],
  [{ "content-type": "application/json; charset=latin1" }, /in UTF-8/],
  [{ "content-encoding": "gzip" }, /without Content-Encoding/],
])("the headers %j return 400 and reserve nothing", async (headers, message) => {
  await expectRefusal(post(bodyOf("x"), headers), 400, "bad_request", message)
})

test.each(["?text=x", "?limit=1", "?maxCost=0", "?text=x&text=y"])(
  "the query %s returns 400 and reserves nothing",
  async (search) => {
    await expectRefusal(post(bodyOf("x"), {}, search), 400, "bad_request", /parameter/i)
  },
)
