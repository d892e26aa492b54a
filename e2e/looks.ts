import AxeBuilder from "@axe-core/playwright"
import { expect, type Page } from "@playwright/test"

export const wide = { width: 1280, height: 800 }
export const narrow = { width: 390, height: 844 }

/** Axe has nothing to say, and nothing scrolls sideways on a narrow screen. */
export async function isAccessibleAndFits(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
  ).toEqual([])
  await page.setViewportSize(narrow)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(narrow.width)
  await page.setViewportSize(wide)
}
