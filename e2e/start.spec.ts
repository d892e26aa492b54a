import { expect } from "@playwright/test"
import { sampleMaxLength } from "@/lib/api/sample"
import { money } from "@/lib/platform/text/money"
import { monthsPaidPerYear, plans, product } from "@/lib/product"
import { isPresent } from "@/tests/support/pages"
import { hasSample } from "@/tests/support/work"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { test } from "./fixtures"
import { hydrated } from "./pages"

type OpenApi = { paths: Record<string, { post?: { summary: string; parameters?: { name: string }[] } }> }

test("search engines may index the start page, but not the pages behind it", { tag: "@long" }, async ({
  page,
  request,
  baseURL,
}) => {
  await page.goto("/")
  await expect(page.locator('meta[name="robots"]')).toHaveAttribute("content", "index")
  const image = await page.locator('meta[property="og:image"]').getAttribute("content")
  expect(image).toContain(`${baseURL}/opengraph-image`)
  const drawn = await request.get(String(image))
  expect([drawn.status(), drawn.headers()["content-type"]]).toEqual([200, "image/png"])
  await page.goto("/sign-in")
  await expect(page.locator('meta[name="robots"]')).toHaveAttribute("content", "noindex")

  expect(await (await request.get("/robots.txt")).text()).toContain(`Sitemap: ${baseURL}/sitemap.xml`)
  const sitemap = await (await request.get("/sitemap.xml")).text()
  const listed = [...sitemap.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url]) => String(url))
  expect(listed).toContain(`${baseURL}/docs/user`)
  for (const url of listed) {
    expect(await (await request.get(url)).text(), url).toContain('<meta name="robots" content="index"/>')
  }
})

for (const javaScriptEnabled of hasSample ? [true, false] : []) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("the start page shows the result of a text and its price, of a visitor's text, too, and says why it refuses one", async ({
      page,
    }) => {
      await page.goto("/")
      if (javaScriptEnabled) await hydrated(page)
      const [field, run] = [page.getByLabel("Your text"), page.getByRole("button", { name: "Run" })]
      const price = page.getByRole("status").filter({ hasText: /would cost \d+ credits?$/ })
      const response = page.getByRole("figure", { name: "Response" })
      await expect(price).toBeVisible()
      await expect(response).toContainText(/"data": \{.*"cost": \d+,.*"result": \{/s)
      await expect(page.getByRole("main").getByRole("link", { name: "Create account" }).first()).toBeVisible()

      const before = await response.textContent()
      const html = "<img src=x onerror=alert(1)> A <b>bold</b> text."
      await field.fill(html)
      await run.click()
      await expect(response).not.toHaveText(String(before))
      await expect(field).toHaveValue(html)
      await expect(page.getByRole("main").locator("img")).toHaveCount(0)
      await expect(javaScriptEnabled ? run : price).toBeFocused()

      for (const [text, message] of [
        ["x".repeat(sampleMaxLength + 1), `at most ${sampleMaxLength} characters`],
        ["", "must not be empty"],
      ] as const) {
        await field.fill(text)
        await run.click()
        await expect(field).toHaveAccessibleDescription(new RegExp(message))
        await expect(field).toHaveValue(text)
        await expect(field).toBeFocused()
        await expect(price).toHaveCount(0)
      }
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
    })
  })
}

test("an unknown page keeps the navigation of the signed in, and icons are where browsers look for them", async ({
  page,
  request,
  signInAs,
}) => {
  await page.goto("/nowhere")
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Page not found")
  const links = page.getByRole("main").getByRole("link")
  await expect(links).toHaveText(["Start page", "API reference"])
  await expect(page.getByRole("navigation", { name: "Site" }).getByRole("link", { name: "Sign in" })).toBeVisible()
  await expect(page.getByRole("banner").getByRole("link", { name: product.name })).toHaveAttribute("href", "/")
  await signInAs("member")
  expect((await page.goto("/nowhere"))?.status()).toBe(404)
  await expect(page.getByRole("main")).toHaveText(/Page not found/)
  await expect(page.getByRole("navigation", { name: "Your account" })).toBeVisible()
  for (const [path, type] of [
    ["/favicon.ico", "image/svg+xml"],
    ["/apple-touch-icon.png", "image/png"],
    ["/apple-touch-icon-precomposed.png", "image/png"],
  ] as const) {
    const response = await request.get(path)
    expect([response.status(), response.headers()["content-type"]], path).toEqual([200, type])
  }
})

test("the start page shows the use of a credit, the free credits, and the prices of plans by month and year", async ({
  page,
  request,
}) => {
  const { paths } = (await (await request.get("/api/v1/openapi.json")).json()) as OpenApi
  const metered = Object.entries(paths).flatMap(([path, { post }]) =>
    post?.parameters?.some(({ name }) => name === "Idempotency-Key") ? [{ path, summary: post.summary }] : [],
  )
  await page.goto("/")
  const shown = page.getByRole("region", { name: "Plans", exact: true })
  await expect(shown).toContainText(/Your first [\d,]+ credits are free/)
  expect(metered.length).toBeGreaterThan(0)
  for (const { path, summary } of metered) {
    await expect(shown).toContainText(`POST ${path}`)
    await expect(shown).toContainText(`${summary.slice(1)}.`)
  }
  const dollars = (amount: number) => money(amount, "usd", { trailingZeroDisplay: "stripIfInteger" })
  for (const { name, amount } of plans) {
    const plan = shown.getByRole("region", { name, exact: true })
    await expect(plan).toContainText(`${dollars(amount)} per month`)
    await expect(plan).toContainText(`or ${dollars(amount * monthsPaidPerYear)} per year`)
  }
  const [name, href] = isPresent("/account/plan")
    ? ["Add credits", "/account/plan"]
    : [product.supportEmail, `mailto:${product.supportEmail}`]
  await expect(shown.getByRole("link", { name })).toHaveAttribute("href", href)
})

test("the start page stays readable for people who are signed in, and leads to their dashboard", {
  tag: "@long",
}, async ({ page, signInAs }) => {
  for (const [role, landing] of [
    ["member", "/account"],
    ["admin", "/admin"],
  ] as const) {
    await signInAs(role)
    await page.goto("/")
    await expect(page.getByRole("region", { name: "Plans", exact: true })).toBeVisible()
    await expect(page.getByRole("link", { name: /^(Sign in|Create account)$/ })).toHaveCount(0)
    await page.getByRole("banner").getByRole("link", { name: "Open dashboard" }).click()
    await expect(page).toHaveURL(landing)
  }
})

test("the screenshot on the page for operators is in the color scheme of the visitor", { tag: "@long" }, async ({
  page,
}) => {
  const file = () =>
    page.getByRole("img", { name: /^The overview/ }).evaluate((image: HTMLImageElement) => image.currentSrc)
  await page.emulateMedia({ colorScheme: "light" })
  await page.goto("/for-operators")
  await expect.poll(file).toMatch(/overview-light\.webp$/)
  await page.emulateMedia({ colorScheme: "dark" })
  await expect.poll(file).toMatch(/overview-dark\.webp$/)
  const { loaded } = await page.getByRole("img", { name: /^The overview/ }).evaluate((image: HTMLImageElement) => ({
    loaded: image.complete && image.naturalWidth > 0,
  }))
  expect(loaded).toBe(true)
})
