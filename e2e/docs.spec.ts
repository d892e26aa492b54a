import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type APIRequestContext, expect, type Page } from "@playwright/test"
import type { Language } from "@/lib/api/documents/example-requests"
import { texts } from "@/lib/api/documents/skill"
import { keyVariable, product } from "@/lib/product"
import type { Surface } from "@/lib/surfaces"
import { isLong } from "@/tests/support/sample"
import { keyOf, test } from "./fixtures"
import { hydrated } from "./pages"

const pages: Record<Surface, string> = { admin: "/docs/admin", user: "/docs/user" }
const surfaces = Object.keys(pages) as Surface[]

test("the reference is public and lists every endpoint of the OpenAPI document with a stable anchor", async ({
  page,
  request,
}) => {
  const operations = await operationsOf(request)
  for (const surface of surfaces) {
    await page.goto(pages[surface])
    await expect(page.locator('meta[name="robots"]')).toHaveAttribute("content", "index")
    const expected = operations.filter(({ tags }) => tags.includes(surface))
    expect(expected.length).toBeGreaterThan(2)
    const headings = page.getByRole("heading", { level: 2 })
    // Sections of modules can follow.
    for (const [place, { title }] of expected.entries()) await expect(headings.nth(place)).toHaveText(title)
    const ids = await page.locator("main section").evaluateAll((sections) => sections.map(({ id }) => id))
    expect(ids.slice(0, expected.length)).toEqual(expected.map(({ operationId }) => operationId))
    for (const id of ids) {
      await expect(page.locator(`a[href="#${id}"]`)).toHaveCount(1)
      await expect(
        page.getByRole("navigation", { name: "Contents" }).locator(`a[href="${pages[surface]}#${id}"]`),
      ).toBeVisible()
    }
  }
})

test("parameters show values and defaults, fields show types, and untrusted fields link to a warning", {
  tag: "@long",
}, async ({ page }) => {
  await page.goto("/docs/admin#listAdminUsers")
  const users = page.locator("#listAdminUsers")
  const item = (name: string) =>
    users.getByRole("listitem").filter({ has: page.locator("code", { hasText: new RegExp(`^${name}$`) }) })
  await expect(item("status").first()).toContainText("active|banned|closed")
  await expect(item("name")).toContainText("stringuntrusted")
  await users.getByRole("link", { name: "parameters of all lists" }).click()
  await expect(page.locator("#pagination-limit")).toContainText("integer from 1 to 500, default 100")
  await page.goBack()
  await users.getByRole("link", { name: "untrusted" }).first().click()
  await expect(page).toHaveURL("/docs#untrusted-text")
  await expect(page.getByRole("region", { name: "Untrusted text" })).toBeInViewport()
})

test("a request is copied verbatim in the selected language", { tag: "@long" }, async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"])
  await page.goto("/docs/user")
  const me = page.locator("#getMe")
  await page.getByRole("radio", { name: "Python" }).check({ force: true })
  await me.getByRole("button", { name: "Copy Request in Python" }).click()
  await expect(me.getByRole("status").filter({ hasText: "Copied" })).toBeVisible()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toContain("import json")
  expect(copied).toBe(await me.locator("[data-language=python] code").textContent())
})

test("links from other pages open the reference, and it has the theme of the browser", { tag: "@long" }, async ({
  page,
  baseURL,
}) => {
  for (const theme of ["light", "dark"]) {
    await page.context().addCookies([{ name: `${product.slug}.theme`, value: theme, url: String(baseURL) }])
    for (const _ of ["rendered", "kept"]) {
      await page.goto("/")
      await page.getByRole("link", { name: "Read the API reference" }).click()
      await expect(page).toHaveURL("/docs")
      await page.getByRole("link", { name: texts.admin.title }).first().click()
      await expect(page).toHaveURL("/docs/admin")
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(texts.admin.title)
      await expect(page.locator("html")).toHaveAttribute("data-theme", theme)
      await expect(page.getByRole("button", { name: /^Copy/ }).first()).toBeVisible()
    }
  }
})

const guides = ["Authentication", "Errors", "Idempotency", "Pagination", "Rate limits", "Streams and CSV", "Versions"]

test("each guide is one click away from every document, on a wide screen and in the contents on a phone", async ({
  page,
}) => {
  for (const path of ["/docs/quickstart", "/docs", pages.user, pages.admin, "/docs/leaks", "/docs/search"]) {
    for (const title of isLong ? guides : guides.slice(0, 1)) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(path)
      await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: title, exact: true }).click()
      await expect(page.getByRole("region", { name: title, exact: true })).toBeInViewport()
    }
  }
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(pages.admin)
  await page.mouse.wheel(0, 8_000)
  const contents = page.getByRole("navigation", { name: "Contents" })
  await page.getByRole("button", { name: "Contents" }).click()
  await contents.getByRole("link", { name: "/admin/users" }).click()
  await expect(contents).toBeHidden()
  await expect(page.getByRole("heading", { name: "/api/v1/admin/users" })).toBeInViewport()
})

test("the search leads to a field and to an error code, and tells when there is nothing", async ({ page }) => {
  await page.goto("/docs")
  await page.keyboard.press("/")
  await page.keyboard.type("neededForCall")
  await page.keyboard.press("Enter")
  await page.getByRole("link", { name: /^neededForCall .*GET \/me\/credits/ }).click()
  await expect(page).toHaveURL("/docs/user#listMeCredits-meta-neededForCall")
  await expect(page.locator(":target")).toBeInViewport()
  await page.getByRole("searchbox", { name: "Search the documents" }).fill("idempotency_mismatch")
  await page.keyboard.press("Enter")
  await page.getByRole("link", { name: /^idempotency_mismatch/ }).click()
  await expect(page.locator(":target")).toContainText("422")
  await page.goto("/docs/search?q=webhook")
  await expect(page.getByText("No results for “webhook”.", { exact: true })).toBeVisible()
  await expect(page.getByRole("main").getByRole("link")).toHaveCount(0)
  await expect(page.locator('meta[name="robots"]')).toHaveAttribute("content", "noindex")
  await page.goto("/docs/search?q=pagnation")
  await expect(page.getByText("No results for “pagnation”. Closest matches:")).toBeVisible()
  await expect(page.getByRole("main").getByRole("link").first()).toContainText("Pagination")
})

test("Ctrl K finds documents on every document, and the pages of an account for its viewer", async ({
  page,
  signInAs,
}) => {
  const field = page.getByRole("combobox", { name: "Find a guide" })
  const options = page.getByRole("option")
  for (const path of isLong ? ["/docs", ...Object.values(pages), "/docs/quickstart", "/docs/leaks"] : [pages.user]) {
    await page.goto(path)
    await hydrated(page)
    await page.keyboard.press("Control+k")
    await expect(field).toBeFocused()
    await expect(options.filter({ hasText: /^API reference$/ })).toBeVisible()
    await field.fill("idempotency")
    await expect(options.first()).toHaveText("IdempotencyGuides")
    await page.keyboard.press("Enter")
    await expect(page).toHaveURL("/docs#idempotency")
    await expect(page.getByRole("region", { name: "Idempotency", exact: true })).toBeInViewport()
  }
  await page.keyboard.press("Control+k")
  await field.fill("credits")
  await expect(options.first()).toHaveText("CreditsGuides")
  await signInAs("member")
  await page.goto("/docs/search?q=429")
  await hydrated(page)
  await page.keyboard.press("Control+k")
  await field.fill("add credits")
  await expect(options.first()).toHaveText("Credits")
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL("/account/credits")
})

test("links and buttons of the documents are at least 24 pixels high", async ({ page }) => {
  for (const path of ["/docs/quickstart", "/docs", ...Object.values(pages), "/docs/leaks", "/docs/search?q=429"]) {
    await page.goto(path)
    const heights = await page
      .locator("a:visible, button:visible, summary:visible")
      .evaluateAll((targets) => targets.map((target) => target.getBoundingClientRect().height))
    expect([path, heights.filter((height) => height < 24)]).toEqual([path, []])
  }
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("the contents open on a phone, and the search returns results", async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto("/docs/user")
    await page.getByRole("button", { name: "Contents" }).click()
    await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: "Idempotency" }).click()
    await expect(page).toHaveURL("/docs#idempotency")
    await page.getByRole("link", { name: "Search the documents" }).click()
    await page.getByRole("searchbox").fill('<"cursor">')
    await page.getByRole("button", { name: "Search" }).click()
    await expect(page.getByRole("searchbox")).toHaveValue('<"cursor">')
    await page.getByRole("link", { name: /^cursor / }).click()
    await expect(page.locator(":target")).toContainText("meta.nextCursor")
  })

  test("selecting a language switches all requests", { tag: "@long" }, async ({ page }) => {
    await page.goto("/docs/admin")
    const shown = page.locator("[data-language]:visible")
    const count = await shown.count()
    for (const language of ["Python", "JavaScript", "curl"]) {
      await page.getByText(language, { exact: true }).click()
      await expect(shown.filter({ hasText: `Request in ${language}` })).toHaveCount(count)
      await expect(shown).toHaveCount(count)
    }
    await expect(page.getByRole("button")).toHaveCount(0)
  })
})

test.describe("every request in the reference works unchanged", () => {
  for (const surface of surfaces) {
    test(`${surface}`, async ({ page }) => {
      // Each request runs in a new process.
      test.slow()
      await page.goto(pages[surface])
      const requests = await requestsOn(page)
      const key = keyOf(surface === "admin" ? "owner" : "member")
      expect(requests).toHaveLength(
        (await page.locator("section", { has: page.locator("[data-language]") }).count()) * 3,
      )
      // The short form runs the request of each endpoint in one language, in turn.
      const chosen = requests.filter((_, index) => isLong || index % 3 === Math.floor(index / 3) % 3)
      // The id in the request that runs an intent is of an intent that was created before.
      let intent = ""
      for (const { endpoint, language, code } of chosen) {
        const printed = await run(language, endpoint === "meRunIntentsRun" ? code.replace(uuid, intent) : code, key)
        if (endpoint === "meRunIntents") [intent = ""] = printed.match(uuid) ?? []
        // Node and Python exit with an error for an error response; curl prints it. Other tests change rows between
        // these calls, so the three outputs may differ.
        if (language === "curl") expectRows(JSON.parse(printed), endpoint)
        else expect(printed, `${endpoint} in ${language}`).toMatch(/\bid\b/)
      }
    })
  }
})

test("the requests of the quickstart and of the guides work unchanged: all pages of a list, and retries", async ({
  page,
}) => {
  test.slow()
  for (const path of ["/docs/quickstart", "/docs"]) {
    await page.goto(path)
    const requests = await requestsOn(page)
    expect(requests.length).toBeGreaterThan(5)
    for (const { endpoint, language, code } of requests) {
      const printed = await run(language, code, keyOf("member"))
      expect(printed, `${endpoint} in ${language}`).toMatch(/\bid\b/)
      expect(printed).not.toContain('"error"')
    }
  }
})

const uuid = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/

const programs: Record<Language, readonly [string, ...string[]]> = {
  curl: ["sh", "-c"],
  javascript: [process.execPath, "--input-type=module", "--eval"],
  python: ["python3", "-c"],
}

/** Runs the code as a reader would and returns its output. */
async function run(language: Language, code: string, key: string): Promise<string> {
  const [program, ...args] = programs[language]
  const env = { ...process.env, [keyVariable]: key }
  return (await promisify(execFile)(program, [...args, code], { env, timeout: 30_000 })).stdout
}

/** Expects a response in the envelope with an object or a list that is not empty. */
function expectRows(response: { data: { id: string } | { id: string }[] }, endpoint: string): void {
  const isList = Array.isArray(response.data)
  expect(Object.keys(response), `${endpoint}: ${JSON.stringify(response)}`).toEqual(
    isList ? ["data", "meta"] : ["data"],
  )
  expect([response.data].flat().map(({ id }) => id)).not.toEqual([])
}

/** All requests in the text of the page. */
async function requestsOn(page: Page) {
  return page.locator("[data-language]").evaluateAll((panels) =>
    panels.map((panel) => ({
      endpoint: String(panel.closest("section")?.id),
      language: panel.getAttribute("data-language") as Language,
      code: String(panel.querySelector("code")?.textContent),
    })),
  )
}

async function operationsOf(request: APIRequestContext) {
  const { paths } = await (await request.get("/api/v1/openapi.json")).json()
  type Operation = { operationId: string; tags: string[] }
  return Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      title: `${method.toUpperCase()} ${path}`,
    })),
  )
}
