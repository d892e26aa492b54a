import { text } from "node:stream/consumers"
import { prerender } from "react-dom/static"
import { expect, test } from "vitest"
import { maxQueryLength, searchDocuments } from "@/app/_shell/documents/search"
import { docsIndex } from "@/app/_shell/documents/search-index"
import { meteredEndpoints } from "@/app/api/v1/endpoints"
import { operationId } from "@/lib/api/documents/document"
import { errors } from "@/lib/api/errors"
import { surfaces } from "@/lib/surfaces"
import SurfacePage from "./[surface]/page"
import LeaksPage from "./leaks/page"
import GuidesPage from "./page"
import QuickstartPage from "./quickstart/page"

const index = await docsIndex()
const [run] = await meteredEndpoints()

async function hrefsOf(query: string): Promise<string[]> {
  return (await searchDocuments(query)).found.map(({ href }) => href)
}

test.each([
  ["idempotency", "/docs#idempotency"],
  ["Idempotency-Key", "/docs#idempotency"],
  ["retry", "/docs#idempotency"],
  ["how do I retry a call?", "/docs#idempotency"],
  ["cursor", "/docs#pagination-cursor"],
  ["pagination", "/docs#pagination"],
  ["paging", "/docs#pagination"],
  ["rate limit", "/docs#rate-limit"],
  ["throttling", "/docs#rate-limit"],
  ["429", "/docs#rate-limit"],
  ["delete account", "/docs#authentication"],
  ["add credits", "/docs#credits"],
  ["export data", "/docs#streams"],
  ["list requests", "/docs/user#listMeRequests"],
  ["sdk", "/docs#for-machines"],
  ["auth", "/docs#authentication"],
  ["rotate", "/docs#keys"],
  ["csv", "/docs#streams"],
  ["billing", "/docs#credits"],
  ["getting started", "/docs/quickstart#key"],
  ["Retry-After", "/docs#Retry-After"],
  ["x-request-id", "/docs#X-Request-Id"],
  ["leaked", "/docs/leaks#report"],
  ["nextcursor", "/docs#pagination"],
  ["permissions", "/docs#keys"],
])("%s leads to %s", async (query, href) => {
  const { found, isNear } = await searchDocuments(query)
  expect([isNear, found.slice(0, 3).map((entry) => entry.href)]).toEqual([false, expect.arrayContaining([href])])
})

test("a word of the data, such as refund, leads to its fields", async () => {
  const { found } = await searchDocuments("refund")
  expect(found.map(({ kind }) => kind)).toContain("field")
  expect(found[0]?.title).toMatch(/refund|Credits/i)
})

test("each error code, and the path of a metered call, leads to itself first", async () => {
  for (const code of Object.keys(errors)) expect(await hrefsOf(code)).toHaveProperty("0", `/docs#${code}`)
  if (run) expect(await hrefsOf(run.path)).toHaveProperty("0", `/docs/${run.surface}#${operationId(run)}`)
})

test("a guide comes before headers and fields of its name", async () => {
  expect(await hrefsOf("rate limit")).toHaveProperty("0", "/docs#rate-limit")
  expect(await hrefsOf("credits")).toHaveProperty("0", "/docs#credits")
})

test("a status lists its error codes first", async () => {
  for (const { status } of Object.values(errors)) {
    const codes = Object.entries(errors).flatMap(([code, error]) => (error.status === status ? [`/docs#${code}`] : []))
    const found = await hrefsOf(String(status))
    expect(found.slice(0, codes.length).sort()).toEqual(codes.sort())
  }
})

test("each result has all words", async () => {
  expect(await hrefsOf("cursor")).not.toEqual([])
  expect(await searchDocuments("cursor zzzzqqqq")).toEqual({ found: [], isNear: true })
})

test.each([
  ["idempotancy", "/docs#idempotency"],
  ["pagnation", "/docs#pagination"],
  ["retry idempotancy", "/docs#idempotency"],
])("for %s, nothing is found, and the closest in spelling is %s", async (query, href) => {
  const { found, isNear } = await searchDocuments(query)
  expect([isNear, found[0]?.href]).toEqual([true, href])
  expect(found.length).toBeLessThan(10)
})

test.each(["webhook", "webhooks please", "kerberos", "stripe", "zzzzqqqq", "undefined"])(
  "for %s, nothing is found, and nothing is close in spelling",
  async (query) => {
    expect(await searchDocuments(query)).toEqual({ found: [], isNear: true })
  },
)

test.each(["", " ", "the", "a\\b", "\0", "<>", "%".repeat(maxQueryLength)])("%j finds nothing", async (query) => {
  expect(await searchDocuments(query)).toEqual({ found: [], isNear: false })
})

test("only the beginning of a long query is read", async () => {
  expect(await hrefsOf(`${"x ".repeat(maxQueryLength)}idempotency`)).not.toContain("/docs#idempotency")
})

test("every entry has an anchor of its own on its page", async () => {
  const anchors = new Map<string, string[]>()
  const render = async (path: string, page: React.ReactNode) => {
    const html = await text((await prerender(page)).prelude)
    anchors.set(
      path,
      [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id),
    )
  }
  await render("/docs", <GuidesPage />)
  await render("/docs/quickstart", <QuickstartPage />)
  await render("/docs/leaks", <LeaksPage />)
  for (const surface of surfaces) {
    const given = { params: Promise.resolve({ surface }), searchParams: Promise.resolve({}) }
    await render(`/docs/${surface}`, await SurfacePage(given))
  }
  for (const [path, ids] of anchors) {
    expect(
      ids.filter((id, place) => ids.indexOf(id) !== place),
      path,
    ).toEqual([])
  }
  const missing = index.filter(({ href }) => {
    const [path = "", anchor = ""] = href.split("#")
    return !anchors.get(path)?.includes(anchor)
  })
  expect(missing.map(({ href }) => href)).toEqual([])
  expect(new Set(index.map(({ href }) => href)).size).toBe(index.length)
  expect(index.length).toBeGreaterThan(200)
})

test("entries are plain texts", () => {
  for (const { title, text } of index) expect(title + text).not.toMatch(/[`*]|undefined|\[object/)
})
