import type { Page } from "@playwright/test"
import { hydrated } from "./pages"

/** Opens the menu with the filters of a list. */
export async function openFilters(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Filters/ }).click()
}

/** Chooses a value of a filter, which applies it, and closes the menu. */
export async function filterBy(page: Page, label: string, value: string): Promise<void> {
  await hydrated(page)
  await openFilters(page)
  await page.getByLabel(label, { exact: true }).selectOption(value)
  await page.keyboard.press("Escape")
}

export async function filterWithoutScript(page: Page, label: string, value: string): Promise<void> {
  await openFilters(page)
  await page.getByLabel(label, { exact: true }).selectOption(value)
  await page.getByRole("button", { name: "Apply" }).click()
}
