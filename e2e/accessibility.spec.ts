import { expect, type Locator } from "@playwright/test"
import { pages } from "@/tests/support/pages"
import { expectAccessibleWithoutSidewaysScroll, expectNoViolations, narrow, wide } from "./accessibility"
import { test, uniqueName } from "./fixtures"
import { createKey, openDialog, press, row, rowButton, saved, shownKey, unfoldLimits } from "./key-page"
import { hydrated } from "./pages"

test.describe("in light and dark mode", () => {
  test.use({ viewport: wide })

  test("the dialogs of the user key page are accessible and fit narrow screens", async ({
    page,
    context,
    customer,
  }) => {
    await context.addCookies(customer.cookies)
    await page.goto("/api-keys")
    const name = `${uniqueName("Wide")} ${"w".repeat(60)}`
    const dialog = await openDialog(page)
    await dialog.getByLabel("Name").fill("  ")
    await dialog.getByLabel("Expires").selectOption("A date")
    await unfoldLimits(dialog)
    for (const box of await dialog.getByRole("checkbox").all()) await box.uncheck()
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByText("Choose at least one permission.")).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.keyboard.press("Escape")
    await expect(dialog).toHaveCount(0)
    await createKey(page, name)
    await page.getByRole("button", { name: "Test it now" }).click()
    await expect(page.getByText("Status 200")).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
    await saved(page)
    await press(rowButton(page, name, "Edit"))
    await expect(page.getByRole("dialog")).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.getByRole("dialog").getByLabel("Allowed IP addresses").fill("203.0.113.7")
    await page.getByRole("button", { name: "Save changes" }).click()
    await expect(row(page, name)).toContainText("1 address")
    await press(rowButton(page, name, "Rotate"))
    await expect(page.getByRole("dialog")).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.getByRole("button", { name: "Rotate key" }).click()
    await shownKey(page)
    await expectAccessibleWithoutSidewaysScroll(page)
    await saved(page)
    await expect(row(page, name)).toContainText("Replaces")
    await expectAccessibleWithoutSidewaysScroll(page)
    await press(rowButton(page, name, "Revoke"))
    await expect(page.getByRole("dialog")).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.getByRole("button", { name: "Revoke key" }).click()
    await expect(page.getByText(`The key “${name}” and the key that it replaced are revoked.`)).toBeVisible()
    await page.goto("/api-keys?show=all")
    await expect(page.getByText(/^(No longer needed|Replaced), /)).toHaveCount(2)
    await expectAccessibleWithoutSidewaysScroll(page)
  })

  test("a new admin key, the confirmation without JavaScript and the account menu are accessible and fit narrow screens", {
    tag: "@long",
  }, async ({ page, signInAs }) => {
    await signInAs("admin")
    await page.goto("/admin/api-keys")
    const name = uniqueName("Agent")
    await createKey(page, name)
    await expectAccessibleWithoutSidewaysScroll(page)
    await saved(page)
    const id = await row(page, name).getByRole("button", { name: "Revoke" }).getAttribute("value")
    await page.goto(`/admin/api-keys?revoke=${id}`)
    await page.getByRole("button", { name: /^Account menu/ }).click()
    await expectAccessibleWithoutSidewaysScroll(page)
  })
})

test("on a narrow screen the sidebar opens from the top bar and closes after navigation", async ({
  page,
  signInAs,
}) => {
  await page.setViewportSize(narrow)
  await signInAs("finance")
  await page.goto("/api-keys")
  await expect(page.getByRole("navigation", { name: "Administration" })).toBeHidden()
  await page.getByRole("button", { name: "Menu", exact: true }).click()
  await expect(page.getByRole("navigation", { name: "Administration" })).toBeVisible()
  await expectNoViolations(page)
  await page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name: "Admin keys" }).click()
  await expect(page.getByRole("heading", { name: "Admin keys" })).toBeVisible()
  await expect(page.getByRole("navigation", { name: "Administration" })).toBeHidden()
})

test("in a low window, the last entry of the sidebar is reachable and above the account row", async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.setViewportSize({ width: 1440, height: 600 })
  await page.goto("/admin")
  // The script scrolls to the current entry.
  await hydrated(page)
  const last = page.getByRole("link", { name: "Contact support" })
  await last.focus()
  const bottom = async (place: Locator) => place.boundingBox().then((box) => (box ? box.y + box.height : Number.NaN))
  const account = await page.getByRole("button", { name: /^Account menu/ }).boundingBox()
  expect(await bottom(last)).toBeLessThanOrEqual(account?.y ?? 0)
  await last.click({ trial: true })
})

test("the account menu leads to the settings, chooses the theme, and closes", async ({ page, signInAs }) => {
  await signInAs("member")
  await page.setViewportSize(narrow)
  await page.goto("/account")
  await page.getByRole("button", { name: "Menu", exact: true }).click()
  await page.getByRole("button", { name: /^Account menu/ }).click()
  const menu = page.locator("#account")
  await menu.getByRole("button", { name: "Dark" }).click()
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark")
  await menu.getByRole("link", { name: "Settings" }).click()
  await expect(page.getByRole("heading", { name: "Settings" })).toBeVisible()
  await expect(page.getByRole("navigation", { name: "Your account" })).toBeHidden()
})

test("the Tab key reaches the skip link first and then the controls of the page", async ({
  page,
  context,
  customer,
}) => {
  await context.addCookies(customer.cookies)
  await page.goto("/api-keys")
  await page.keyboard.press("Tab")
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused()
  await page.keyboard.press("Enter")
  await page.keyboard.press("Tab")
  await expect(page.getByRole("main").getByRole("link", { name: "API reference" })).toBeFocused()
  await page.keyboard.press("Tab")
  await expect(page.getByRole("button", { name: "Create key" })).toBeFocused()
  await page.keyboard.press("Enter")
  await expect(page.getByRole("dialog").getByLabel("Name")).toBeFocused()
})

test("where the system chooses all colors, the selected link of a group is outlined", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.emulateMedia({ forcedColors: "active" })
  await page.goto("/admin/users?status=banned")
  for (const [name, outline] of Object.entries({ Banned: "solid", Closed: "none" })) {
    await expect(page.getByRole("link", { name, exact: true })).toHaveCSS("outline-style", outline)
  }
  await page.emulateMedia({ forcedColors: null })
})

test("every page has a unique title", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  const titles: string[] = []
  for (const { path, access } of [{ path: "/nowhere", access: "everyone" }, ...pages]) {
    if (path.includes("[") || ["guests", "second step", "demo"].includes(access)) continue
    const [, title = ""] = /<title>(.*?)<\/title>/.exec(await (await page.request.get(path)).text()) ?? []
    titles.push(title)
  }
  expect(titles.length).toBeGreaterThan(20)
  expect(new Set(titles).size).toBe(titles.length)
})
