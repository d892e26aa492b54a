import { expect, type Page } from "@playwright/test"
import type { Look } from "@/tests/support/pages"
import * as yours from "@/tests/yours/reviewed"

/** Opens a page to look at, or a page that the first row of a list links to. */
export async function openLook(
  page: Page,
  { address, below }: Pick<Look, "address" | "below">,
  host = "",
): Promise<void> {
  await page.goto(host + (below === undefined ? address : (await firstRowOf(page, host + address)) + below))
}

async function firstRowOf(page: Page, address: string): Promise<string> {
  const html = await (await page.request.get(address)).text()
  const [, href] = /<tbody\b.*? data-opens\b.*?<a\b[^>]* href="([^"]+)"/s.exec(html) ?? []
  if (!href) throw new Error(`The first row of ${address} opens nothing.`)
  return href
}

type ReactRoot = { stateNode: { current: { memoizedState: { isDehydrated: boolean } } } }

/** Waits until React handles the page's events; before, the browser submits forms itself and shortcuts do nothing. */
export async function hydrated(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const [, root] = Object.entries(document).find(([key]) => key.startsWith("__reactContainer$")) ?? []
    return (root as ReactRoot | undefined)?.stateNode.current.memoizedState.isDehydrated === false
  })
  // Effects run after the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))))
}

/** Pages of yours that follow the same page are in the order of their labels. */
export function expectSidebar(shown: readonly (string | null)[], expected: readonly string[]): void {
  const isOurs = (path: string | null) => !yours.pages.some((page) => page.path === path)
  expect([...shown].sort()).toEqual([...expected].sort())
  expect(shown.filter(isOurs)).toEqual(expected.filter(isOurs))
}
