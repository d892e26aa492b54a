import type { Page } from "@playwright/test"

/** The hidden fields of the form that calls an action, as the browser would send them without JavaScript. */
export async function hiddenFields(page: Page): Promise<Record<string, string>> {
  const form = page.locator("main form[method=POST]")
  const fields = await form
    .locator("input[type=hidden]")
    .evaluateAll((inputs) => inputs.map((input) => [input.getAttribute("name"), input.getAttribute("value") ?? ""]))
  return Object.fromEntries(fields)
}
