import { expect } from "@playwright/test"
import { test } from "./fixtures"

test.use({ ownContext: true })

test("the fonts are small files of this site, one is preloaded, and nothing moves when they arrive late", async ({
  page,
  baseURL,
}) => {
  let deliver = () => {}
  const isDrawn = new Promise<void>((done) => {
    deliver = done
  })
  const fonts: string[] = []
  let bytes = 0
  await page.route("**/*.woff2", async (route) => {
    const response = await route.fetch()
    bytes += (await response.body()).length
    fonts.push(new URL(response.url()).origin)
    await isDrawn
    await route.fulfill({ response })
  })
  await page.goto("/docs", { waitUntil: "domcontentloaded" })
  await expect(page.locator('link[rel="preload"][as="font"]')).toHaveCount(1)
  await expect.poll(() => fonts).toEqual([new URL(String(baseURL)).origin, new URL(String(baseURL)).origin])
  expect(bytes).toBeLessThanOrEqual(60_000)
  const places = () =>
    page
      .locator("h2, p, pre")
      .evaluateAll((blocks) => blocks.map((block) => JSON.stringify(block.getBoundingClientRect())))
  const before = await places()
  deliver()
  await page.evaluate(() => document.fonts.ready)
  expect(await places()).toEqual(before)
  expect(before.length).toBeGreaterThan(20)
})
