import AxeBuilder from "@axe-core/playwright"
import { expect, type Page } from "@playwright/test"

export const wide = { width: 1280, height: 800 }
export const narrow = { width: 390, height: 844 }

/** The axe rules that depend on colors, the only ones that can fail in dark mode but not in light mode. */
const colorRules = ["color-contrast", "link-in-text-block"]

/** Expects no axe violations in light and dark mode, and no horizontal scrolling on a narrow screen. */
export async function expectAccessibleWithoutSidewaysScroll(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" })
  await expectNoViolations(axeOn(page).withRules(colorRules))
  await page.emulateMedia({ colorScheme: "light" })
  await expectNoViolations(axeOn(page))
  await page.setViewportSize(narrow)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(narrow.width)
  await page.setViewportSize(wide)
}

/** Without support for frames, which these pages do not have, and without reports on what is right: a third of the time. */
function axeOn(page: Page): AxeBuilder {
  return new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] })
}

async function expectNoViolations(axe: AxeBuilder): Promise<void> {
  const { violations } = await axe.analyze()
  expect(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
  ).toEqual([])
}
