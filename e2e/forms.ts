import { expect, type Page } from "@playwright/test"

/** The hidden fields of the page's action form, as a browser sends them without JavaScript. */
export async function hiddenFields(page: Page, part = page.getByRole("main")): Promise<Record<string, string>> {
  const form = part.locator("form[method=POST]")
  await expect(form).toHaveCount(1)
  const fields = await form
    .locator("input[type=hidden]")
    .evaluateAll((inputs) => inputs.map((input) => [input.getAttribute("name"), input.getAttribute("value") ?? ""]))
  return Object.fromEntries(fields)
}
