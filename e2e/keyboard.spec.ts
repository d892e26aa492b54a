import { expect, type Locator, type Page } from "@playwright/test"
import { demoPassword } from "@/lib/process/demo-accounts"
import { test, uniqueName } from "./fixtures"

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  const hasFocus = () => target.evaluate((element) => element === document.activeElement)
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press("Tab")
    if ((await target.count()) === 1 && (await hasFocus())) return
  }
  throw new Error(`80 times Tab do not reach ${target}.`)
}

test("with the keyboard alone: sign in, create a key, save it, find it, revoke it, sign out", async ({ page }) => {
  const name = uniqueName("Keyboard")
  await page.goto("/sign-in")
  await tabTo(page, page.getByLabel("Email"))
  await page.keyboard.type("member@example.com")
  await tabTo(page, page.getByLabel("Password", { exact: true }))
  await page.keyboard.type(demoPassword)
  await page.keyboard.press("Enter")
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible()
  await tabTo(page, page.getByRole("link", { name: "API keys", exact: true }))
  await page.keyboard.press("Enter")
  await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible()

  await tabTo(page, page.getByRole("button", { name: "Create key" }))
  await page.keyboard.press("Enter")
  await expect(page.getByRole("dialog").getByLabel("Name")).toBeFocused()
  await page.keyboard.type(name)
  await page.keyboard.press("Enter")
  await expect(page.getByLabel("New API key")).toBeFocused()
  await tabTo(page, page.getByRole("button", { name: "I have saved this key" }))
  await page.keyboard.press("Enter")
  await expect(page.getByRole("button", { name: "Create key" })).toBeFocused()

  await page.keyboard.press("Control+k")
  await page.keyboard.type(name)
  await expect(page.getByRole("option", { name })).toBeVisible()
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(/\/api-keys\/[0-9a-f-]{36}$/)
  await page.goBack()

  await tabTo(page, page.getByRole("row", { name }).getByRole("button", { name: "Revoke" }))
  await page.keyboard.press("Enter")
  await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Revoke key" }))
  await page.keyboard.press("Enter")
  await expect(page.getByRole("status").filter({ hasText: `The key “${name}” is revoked.` })).toBeVisible()

  await tabTo(page, page.getByRole("button", { name: /^Account menu/ }))
  await page.keyboard.press("Enter")
  await expect(page.getByRole("link", { name: "Settings" }).last()).toBeFocused()
  await page.keyboard.press("ArrowUp")
  await expect(page.getByRole("button", { name: "Sign out" })).toBeFocused()
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(/\/sign-in|\/$/)
})

test("the arrow keys move in the menu of an account, and Escape leads back to its button", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const { rows } = await database.query("SELECT id FROM users WHERE role = 'member' AND status = 'active' LIMIT 1")
  await signInAs("admin")
  await page.goto(`/admin/users/${rows[0].id}`)
  const menu = page.getByRole("button", { name: "Actions", exact: true })
  await menu.press("Enter")
  const items = page.locator("#account-actions :is(button, a)")
  await expect(items.first()).toBeFocused()
  await page.keyboard.press("ArrowDown")
  await expect(items.nth(1)).toBeFocused()
  await page.keyboard.press("End")
  await expect(items.last()).toBeFocused()
  await page.keyboard.press("ArrowDown")
  await expect(items.first()).toBeFocused()
  await page.keyboard.press("Escape")
  await expect(menu).toBeFocused()
})
