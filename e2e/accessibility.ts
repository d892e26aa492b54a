import AxeBuilder from "@axe-core/playwright"
import { expect, type Page } from "@playwright/test"

export const wide = { width: 1280, height: 800 }
export const narrow = { width: 390, height: 844 }

/** The rules of axe that look at colours, all that a dark page can break when a light one is fine. */
const rulesOfColour = ["color-contrast", "link-in-text-block"]

/** Axe has nothing to say of the page in light and in dark, and nothing scrolls sideways on a narrow screen. */
export async function expectAccessibleWithoutSidewaysScroll(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" })
  await findsNothing(new AxeBuilder({ page }).withRules(rulesOfColour))
  await page.emulateMedia({ colorScheme: "light" })
  await findsNothing(new AxeBuilder({ page }))
  await page.setViewportSize(narrow)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(narrow.width)
  await page.setViewportSize(wide)
}

async function findsNothing(axe: AxeBuilder): Promise<void> {
  // Without what pages with frames need, and these have none: it takes half of the time.
  const { violations } = await axe.setLegacyMode().analyze()
  expect(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
  ).toEqual([])
}
