import { expect } from "@playwright/test"
import { expectNoViolations, wide } from "./accessibility"
import { everyPage, openPage } from "./every-page"
import { test } from "./fixtures"

const widths = [320, 390, 640, 768, 1024, 1112, 1280, 1440, 1920]

for (const visit of everyPage) {
  test(`${visit.name}: nothing is wider than the window, and axe finds nothing in light and dark mode`, async ({
    page,
    signInAs,
  }) => {
    await page.setViewportSize(wide)
    if (visit.viewer) await signInAs(visit.viewer)
    await openPage(page, visit)
    await page.evaluate(() => {
      for (const details of document.querySelectorAll("main details")) details.setAttribute("open", "")
    })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 })
      const taken = await page.evaluate(() => document.documentElement.scrollWidth)
      expect(taken, `at ${width} px`).toBeLessThanOrEqual(width)
    }
    await page.setViewportSize(wide)
    await expectNoViolations(page)
    await page.emulateMedia({ colorScheme: "dark" })
    await expectNoViolations(page)
  })
}
