import { expect, type Locator, type Page } from "@playwright/test"
import { inCredits } from "@/lib/credits/words"
import { keyPattern } from "@/lib/keys/secret"
import { kinds, type Surface } from "@/lib/surfaces"
import { work } from "@/tests/support/work"

/** Creates a key in the dialog and returns it; the dialog stays open and shows the key. */
export async function createKey(page: Page, name: string, expires?: string): Promise<string> {
  const dialog = await openDialog(page)
  await dialog.getByLabel("Name").fill(name)
  if (expires) await dialog.getByLabel("Expires").selectOption(expires)
  await choosePermission(dialog)
  await dialog.getByRole("button", { name: "Create key" }).click()
  await expect(page.getByLabel("New API key")).toBeFocused()
  return shownKey(page)
}

export async function openDialog(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Create key" }).click()
  const dialog = page.getByRole("dialog")
  await expect(dialog).toBeVisible()
  return dialog
}

/** Ticks a permission if the form asks for permissions: none is preselected then. */
export async function choosePermission(form: Locator): Promise<void> {
  const permission = form.getByRole("group", { name: "Permissions" }).getByRole("checkbox").last()
  if (await permission.isVisible()) await permission.check()
}

/** Unfolds the limits of the new key form. */
export async function unfoldLimits(form: Locator | Page): Promise<void> {
  await form.getByText("Limit what this key can do").click()
}

/** Rotates a key in the dialog and returns the new one; the dialog stays open and shows it. */
export async function rotateKey(page: Page, name: string, grace: string): Promise<string> {
  await press(rowButton(page, name, "Rotate"))
  const dialog = page.getByRole("dialog", { name: "Rotate this key?" })
  await dialog.getByLabel("How long the old key keeps working").selectOption(grace)
  await dialog.getByRole("button", { name: "Rotate key" }).click()
  return shownKey(page)
}

export async function shownKey(page: Page): Promise<string> {
  const field = page.getByLabel("New API key")
  await expect(field).toHaveValue(new RegExp(`^${keyPattern}$`))
  return field.inputValue()
}

export async function saved(page: Page): Promise<void> {
  await page.getByRole("button", { name: "I have saved this key" }).click()
  await expect(page.getByLabel("New API key")).toHaveCount(0)
}

/** Chooses the free call of the surface, which every key may make, and makes it. */
export async function testKey(page: Page, surface: Surface): Promise<void> {
  if (surface === "user") await page.getByLabel("Call", { exact: true }).selectOption(kinds.user.test)
  await page.getByRole("button", { name: "Run this call" }).click()
}

/** Chooses the metered call for a new key, and unfolds its body. */
export async function openRun(page: Page): Promise<{ body: Locator; run: Locator }> {
  await page.getByLabel("Call", { exact: true }).selectOption(work.path)
  await page.getByText("Change the body").click()
  return {
    body: page.getByLabel("JSON body"),
    run: page.getByRole("button", { name: `Run for up to ${inCredits(work.maxCost)}` }),
  }
}

/** The outcome of a call, which screen readers announce without the JSON. */
export function outcome(page: Page): Locator {
  return page
    .locator("ol")
    .filter({ has: page.getByLabel("New API key") })
    .getByRole("status")
    .last()
}

export function row(page: Page, name: string): Locator {
  return page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) })
}

export function rowButton(page: Page, name: string, button: string): Locator {
  return row(page, name).getByRole("button", { name: button, exact: true })
}

/** Presses a row's button by keyboard: rows move under the pointer when another test creates an admin key. */
export function press(button: Locator): Promise<void> {
  return button.press("Enter")
}
