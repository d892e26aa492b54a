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
  // At 1024 pixels a table has the least room: below, its rows are cards.
  for (const width of [narrow.width, 1024]) await expectNoSidewaysScroll(page, width)
  await page.setViewportSize(wide)
}

export async function expectNoSidewaysScroll(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: narrow.height })
  expect(await page.evaluate(() => document.documentElement.scrollWidth), `at ${width} px`).toBeLessThanOrEqual(width)
}

/**
 * Layout errors of a page: words of its own that break across lines, cells that are cut, tables that scroll, and
 * numbers that are closer than 32 pixels to the next column.
 */
export function misprintsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    const boxesOf = (range: Range) => [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1)
    const boxesIn = (element: Element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return boxesOf(range)
    }
    const blockOf = (element: Element): Element =>
      getComputedStyle(element).display === "inline" ? blockOf(element.parentElement ?? document.body) : element
    const main = document.querySelector("main") ?? document.body
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { currentNode: text } = texts
      const parent = text.parentElement
      if (!parent?.checkVisibility() || parent.closest("pre, textarea, select, .sr-only")) continue
      // Ids, keys and values of the API are not words.
      for (const { 0: word, index } of (text.textContent ?? "").matchAll(/(?<![\w-]|\w\.)\p{L}+(?![\w-]|\.\w)/gu)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + word.length)
        const boxes = boxesOf(range)
        const wouldFit = boxes.reduce((total, { width }) => total + width, 0) <= blockOf(parent).clientWidth
        if (new Set(boxes.map(({ top }) => Math.round(top))).size > 1 && wouldFit) found.push(`${word} is broken`)
      }
    }
    for (const table of main.querySelectorAll("section:has(> table)")) {
      const { left, right } = table.getBoundingClientRect()
      if (getComputedStyle(table).overflow !== "visible") found.push(`${table.getAttribute("aria-label")} scrolls`)
      for (const cell of table.querySelectorAll(".cell")) {
        const isIn = boxesIn(cell).every((box) => box.left >= left - 1 && box.right <= right + 1)
        if (!isIn && !cell.querySelector(".truncate, [class*=line-clamp]")) found.push(`${cell.textContent} is cut`)
      }
    }
    for (const number of main.querySelectorAll("table .numeric")) {
      const next = number.nextElementSibling
      const isCard = getComputedStyle(number.closest("table") ?? number).display !== "table"
      if (isCard || !next || next.matches(".numeric") || number.querySelector(".sr-only")) continue
      const end = Math.max(...boxesIn(number).map(({ right }) => right))
      if (Math.min(...boxesIn(next).map(({ left }) => left)) - end < 31.5)
        found.push(`${number.textContent} touches ${next.textContent}`)
    }
    return [...new Set(found)]
  })
}

/** Checks all rules in light mode. In dark mode, `npm test` checks the rules for colors and the long form all rules. */
async function expectNoViolationsInBothModes(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" })
  await expectNoViolations(page, isLong ? undefined : colorRules)
  await page.emulateMedia({ colorScheme: "light" })
  await expectNoViolations(page)
}

/**
 * The page behind an open dialog was checked before: only the long form checks it again.
 * @param rules the axe rules to check; all of them unless given
 */
export async function expectNoViolations(page: Page, rules?: string[]): Promise<void> {
  // A prefetched page appears before its title.
  await expect(page).toHaveTitle(/./)
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource)
  // Reports of passed rules would take two thirds of the time.
  const options: axe.RunOptions = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) }
  const dialogs = isLong ? "" : "[role=dialog]"
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
