import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { expect, type Page } from "@playwright/test"
import type axe from "axe-core"
import { isLong } from "@/tests/support/sample"

export const wide = { width: 1280, height: 800 }
export const narrow = { width: 390, height: 844 }

/** The axe rules that depend on colors, the only ones that can fail in dark mode but not in light mode. */
const colorRules = ["color-contrast", "link-in-text-block"]

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Expects no axe violations in light and dark mode, and no horizontal scrolling on narrower screens. */
export async function expectAccessibleWithoutSidewaysScroll(page: Page): Promise<void> {
  await expectNoViolationsInBothModes(page)
  // At 1024 pixels the sidebar leaves the least room for a table.
  for (const width of [narrow.width, 1024]) await expectNoSidewaysScroll(page, width)
  await page.setViewportSize(wide)
}

export async function expectNoSidewaysScroll(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: narrow.height })
  expect(await page.evaluate(() => document.documentElement.scrollWidth), `at ${width} px`).toBeLessThanOrEqual(width)
}

/** Checks all rules in light mode. In dark mode, `npm test` checks the rules for colors and the long form all rules. */
export async function expectNoViolationsInBothModes(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" })
  await expectNoViolations(page, isLong ? undefined : colorRules)
  await page.emulateMedia({ colorScheme: "light" })
  await expectNoViolations(page)
}

/**
 * What is behind an open dialog was checked before: only the long form does it again.
 * @param rules the axe rules to check; all of them unless given
 */
export async function expectNoViolations(page: Page, rules?: string[]): Promise<void> {
  // A page that was prefetched is shown a moment before its title.
  await expect(page).toHaveTitle(/./)
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource)
  // Without reports on what is right, which take two thirds of the time.
  const options: axe.RunOptions = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) }
  const dialogs = isLong ? "" : "[role=dialog], [role=alertdialog]"
  const violations = await page.evaluate(
    async ([options, dialogs]) => {
      const part = (dialogs && document.querySelector(dialogs)) || document
      const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(part, options)
      return violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])])
    },
    [options, dialogs] as const,
  )
  expect(violations).toEqual([])
}
