import pg from "pg"
import { beforeEach, expect, test, vi } from "vitest"
import { z } from "zod"
import { meteredEndpoints } from "@/app/api/v1/endpoints"
import { userMetered } from "@/lib/api/metered"
import { sampleMaxLength } from "@/lib/api/sample"
import * as runs from "@/lib/credits/run"
import { env } from "@/lib/env"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { run } from "./actions"

// Next's request exists only inside its server; tests/http sends forms to the build.
let address = ""
let visitors = 0
vi.mock("next/headers", () => ({
  headers: async () => new Headers({ origin: env().BASE_URL }),
  cookies: async () => ({ get: () => undefined }),
}))
vi.mock("@/lib/platform/rate-limit/client-address", () => ({ clientAddress: () => address }))
vi.mock("@/app/api/v1/endpoints")

const work = vi.fn()
const row = {
  summary: "Measures a text",
  maxCost: 3,
  body: z.strictObject({ text: z.string().meta({ examples: ["A text."] }) }),
  result: z.object({ characters: z.int() }),
  counts: { characters: ["character", "characters"] as const },
  work,
}
const sample = (text: string) => ({ result: { characters: text.length, internal: "not published" }, cost: 2 })
const example = { data: { id: "an id", cost: 1, balance: 7, result: { characters: 1 }, createdAt: "a time" } }

function serve({ GET: { endpoint } }: ReturnType<typeof userMetered>): void {
  const { metered, body } = endpoint
  if (!metered || !body) expect.fail()
  const served = { ...endpoint, metered, body, path: "/api/v1/me/run", example, routes: {} as never }
  vi.mocked(meteredEndpoints).mockResolvedValue([served])
}

function submit(text: string) {
  const form = new FormData()
  form.set("text", text)
  return run(null, form)
}

beforeEach(() => {
  address = `2001:db8:${(++visitors).toString(16)}::1`
  serve(userMetered({ ...row, sample }))
})

test("a text gets the result and the price as the API would respond, with the published fields alone", async () => {
  const free = env().WELCOME_CREDITS
  const result = await submit(" Two words \n")
  if (!result.ok) expect.fail()
  expect(result.done.words).toBe("9 characters · would cost 2 credits")
  const data = { ...example.data, cost: 2, balance: free - 2, result: { characters: 9 } }
  expect(JSON.parse(String(result.done.response))).toEqual({ data })
})

test("a text reaches neither the work, the ledger, the database nor the log", async () => {
  const calls = [
    work,
    vi.spyOn(runs, "run"),
    vi.spyOn(pg.Client.prototype, "query"),
    vi.spyOn(pg.Pool.prototype, "connect"),
    ...(["debug", "info", "warn", "error"] as const).map((level) => vi.spyOn(log(), level)),
    vi.spyOn(console, "log"),
  ]
  for (const text of ["A text.", "", "x".repeat(sampleMaxLength + 1)]) await submit(text)
  for (const call of calls) expect(call).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

test.each([
  ["x".repeat(sampleMaxLength), undefined],
  [`${"x".repeat(sampleMaxLength)}y`, `The text can have at most ${sampleMaxLength} characters.`],
  [" \n", "The text must not be empty."],
])("a text may have from 1 to 300 characters, and is kept if it is refused", async (text, error) => {
  const result = await submit(text)
  if (error === undefined) return expect(result.ok).toBe(true)
  expect(result).toEqual({ ok: false, errors: { text: error }, values: { text } })
})

test("an address has ten texts a minute, and refused texts do not count", async () => {
  const { tokens, windowSeconds } = limits.samplesAddress
  expect([tokens, windowSeconds]).toEqual([10, 60])
  await submit("")
  for (let count = 0; count < tokens; count++) expect((await submit("A text.")).ok).toBe(true)
  const message = "Too many texts from your network. Try again in 1 minute."
  expect(await submit("A text.")).toEqual({ ok: false, message, errors: {}, values: { text: "A text." } })
  address = "203.0.113.1"
  expect((await submit("A text.")).ok).toBe(true)
})

test("work without a sample is not run for a text", async () => {
  serve(userMetered(row))
  const message = "This call has no sample. Create an account to make it."
  expect(await submit("A text.")).toEqual({ ok: false, message, errors: {}, values: { text: "A text." } })
  expect(work).not.toHaveBeenCalled()
})

test("invisible characters in a result are shown as symbols", async () => {
  const result = z.object({ echo: z.string() })
  serve(userMetered({ ...row, result, counts: {}, sample: (text) => ({ result: { echo: text }, cost: 1 }) }))
  const sent = await submit("abc\u200fdef")
  if (!sent.ok) expect.fail()
  expect(sent.done.words).toBe("would cost 1 credit")
  expect(sent.done.response).toContain('"abc⟨U+200F⟩def"')
})
