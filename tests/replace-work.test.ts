import { beforeAll, expect, test } from "vitest"
import { launchBrowser } from "./support/browser"
import { serveChangedCopy, sessionInCopy } from "./support/changed-copy"
import { createKey, createUser, grantCredits } from "./support/factories"

// The metered work is replaced in one file: support/other-work.ts, in a copy.

const numbers = [1, 2, 3.5]
let base = ""

beforeAll(async () => {
  const server = await serveChangedCopy()
  base = server.base
  return server.stop
})

async function customer() {
  const user = await createUser()
  await grantCredits(user.id, 100)
  return user
}

test.each(["/docs/user", "/api/v1/me/skill.md", "/api/v1/openapi.json"])(
  "%s describes the new work and no longer the old",
  async (path) => {
    const text = await (await fetch(base + path)).text()
    expect(text).toContain("Adds numbers")
    expect(text).toContain("The numbers to add")
    expect(text).not.toMatch(/keyTerms|readingSeconds|The text to analyze/)
  },
)

test("the API does the new work, charges a retry once and refuses the old body", async () => {
  const { secret } = await createKey({ user: await customer(), surface: "user" })
  const headers = { "x-api-key": secret, "content-type": "application/json", "idempotency-key": "once" }
  const call = async (body: object) => {
    const response = await fetch(`${base}/api/v1/me/run`, { method: "POST", headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const first = await call({ numbers })
  expect(first).toMatchObject({ status: 200, body: { data: { cost: 3, balance: 97, result: { sum: 6.5 } } } })
  expect(await call({ numbers })).toEqual(first)
  const message = "numbers must be an array."
  expect(await call({ text: "A text." })).toEqual({ status: 400, body: { error: { code: "bad_request", message } } })
})

test("the start page shows the recorded example of work without a sample, and no text box", async () => {
  const html = await (await fetch(base)).text()
  expect(html).toContain("Recorded response")
  // Without the colors of the code.
  expect(html.replaceAll(/<[^>]*>/g, "")).toContain("&quot;sum&quot;: 6.5")
  expect(html).not.toContain("<textarea")
})

test("a customer tries the new work on the key page, with its own example and price", async () => {
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage({ extraHTTPHeaders: { cookie: await sessionInCopy(await customer()) } })
    await page.goto(`${base}/api-keys?new`)
    await page.getByLabel("Name").fill("Sums")
    await page.getByRole("button", { name: "Create key" }).click()
    // There is a second metered endpoint.
    await page.getByLabel("Call", { exact: true }).selectOption("/api/v1/me/run")
    expect(await page.getByLabel("Request in curl").inputValue()).toContain(`-d '${JSON.stringify({ numbers })}'`)
    expect(JSON.parse(await page.getByLabel("JSON body").inputValue())).toEqual({ numbers })
    await page.getByRole("button", { name: "Run for up to 3 credits" }).click()
    // The new work names no numbers of its result.
    await page.getByText("3 credits · 97 left", { exact: true }).waitFor()
    await page.getByText('"sum": 6.5').waitFor()
  } finally {
    await browser.close()
  }
})
