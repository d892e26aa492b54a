import { expect, type Page } from "@playwright/test"
import { looks } from "@/tests/support/pages"
import { inTurn, isLong } from "@/tests/support/sample"
import { expectNoSidewaysScroll, expectNoViolations, misprintsOf, narrow, wide } from "./accessibility"
import { test } from "./fixtures"
import { openLook } from "./pages"

// At 1024 pixels a table has the least room: below, its rows are cards.
const widths = isLong ? [320, 390, 640, 768, 1024, 1064, 1112, 1280, 1440, 1920] : [narrow.width, 1024]

/** Rows of a table and endpoints of a reference are alike: the short form checks the first five with axe. */
const unchecked = ["tbody > tr", "section:has([data-language])"].map((alike) => `${alike}:nth-of-type(n + 6)`).join()

/** Limits a list to seeded rows: other tests write rows of today. */
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

/** Lists that are no `<ResourcePage>`. */
const ownLists = ["/account/orders", "/account/requests", "/account/credits/entries", "/api-keys", "/admin/api-keys"]

/** Where the row with a number ends; rows that a short list lacks count as high as a row of two lines. */
function bottomOf(page: Page, row: number): Promise<number> {
  return page.locator("main .row").evaluateAll((rows, row) => {
    const last = rows[Math.min(row, rows.length) - 1]?.getBoundingClientRect().bottom ?? Number.POSITIVE_INFINITY
    return last + Math.max(0, row - rows.length) * 40
  }, row)
}

/** The number of lines of most cards, without the buttons. */
function linesOfCards(page: Page): Promise<number> {
  return page.locator("main .row").evaluateAll((rows) => {
    const lines = rows.map((row) => {
      const buttons = row.querySelector(".actions:not([data-card])")?.getBoundingClientRect().height ?? 0
      return Math.floor((row.getBoundingClientRect().height - buttons) / 25)
    })
    return lines.sort((one, other) => one - other)[Math.floor(rows.length / 2)] ?? 0
  })
}

for (const [place, { page: row, ...look }] of looks.entries()) {
  const isList = row.isList || (look.below === undefined && ownLists.includes(look.address))
  const list = isList ? "; a tablet shows 12 rows, and a phone rows of two lines" : ""
  const modes = inTurn(["light", "dark"] as const, place)

  test(`${look.name}: nothing is wider than the window, no word is broken, and axe finds nothing in ${modes.join(" and ")} mode${list}`, async ({
    page,
    signInAs,
  }) => {
    // All rules for all endpoints of the admin API.
    if (isLong) test.slow()
    if (look.viewer) await signInAs(look.viewer)
    await openLook(page, row.isList ? { ...look, address: `${look.address}?until=${yesterday}` } : look)
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(row.title)
    if (isList) {
      await page.setViewportSize({ width: 1024, height: 768 })
      expect(await bottomOf(page, 12)).toBeLessThanOrEqual(768)
      await page.setViewportSize(narrow)
      expect(await bottomOf(page, 1)).toBeLessThan(narrow.height)
      // The details of an action, a message and the start of a key are lines of their own.
      expect(await linesOfCards(page)).toBeLessThanOrEqual(/audit|feedback|keys/.test(row.path) ? 3 : 2)
    }
    await page.evaluate(() => {
      for (const details of document.querySelectorAll("main details")) details.setAttribute("open", "")
    })
    for (const width of widths) {
      await expectNoSidewaysScroll(page, width)
      expect(await misprintsOf(page), `at ${width} px`).toEqual([])
    }
    await page.setViewportSize(wide)
    if (row.isList) await expect(page.locator("section:has(> table)")).not.toHaveCount(0)
    expect(await misprintsOf(page)).toEqual([])
    if (!isLong) {
      await page.locator(unchecked).evaluateAll((all) => {
        for (const element of all) element.remove()
      })
    }
    for (const colorScheme of modes) {
      await page.emulateMedia({ colorScheme })
      await expectNoViolations(page)
    }
  })
}
