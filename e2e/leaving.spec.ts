import { readFileSync } from "node:fs"
import { expect, type Page } from "@playwright/test"
import { isPresent } from "@/tests/support/pages"
import { scripting } from "@/tests/support/sample"
import { unzip } from "@/tests/support/zip"
import { expectAccessibleWithoutSidewaysScroll, wide } from "./accessibility"
import { type Account, test } from "./fixtures"
import { emailTo } from "./mail"

async function signIn(page: Page, { email, password }: Account): Promise<void> {
  await page.goto("/sign-in")
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("main").getByRole("button", { name: "Sign in", exact: true }).click()
}

async function downloaded(page: Page): Promise<{ name: string; files: Map<string, string> }> {
  const started = page.waitForEvent("download")
  await page.getByRole("button", { name: "Download ZIP" }).click()
  const download = await started
  return { name: download.suggestedFilename(), files: unzip(readFileSync(await download.path())) }
}

function status(page: Page) {
  return page.getByRole("main").getByRole("status").filter({ hasText: /./ })
}

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("an account exports its data, deletes itself, and at its next sign-in keeps or undoes the deletion", async ({
      page,
      signUp,
    }) => {
      const account = await signUp()
      await page.goto("/account/settings")
      await page.getByRole("button", { name: "Export data" }).click()
      const heading = page.getByRole("heading", { name: "Your export is ready" })
      await expect(heading).toBeVisible()
      if (javaScriptEnabled) await expect(heading).toBeFocused()
      const { name, files } = await downloaded(page)
      expect(name).toMatch(/^[a-z]+-export-\d{4}-\d\d-\d\d\.zip$/)
      expect(JSON.parse(files.get("account.json") ?? "")).toMatchObject([{ email: account.email }])
      await expect(page).toHaveURL(/\/account\/settings$/)
      if (javaScriptEnabled) {
        await expect(page.getByRole("heading", { name: "Your download has started" })).toBeVisible()
        await page.getByRole("button", { name: "Export again" }).click()
        await expect(heading).toBeVisible()
        expect((await downloaded(page)).files.has("account.json")).toBe(true)
      } else {
        await page.getByRole("button", { name: "Download ZIP" }).click()
        await expect(page.getByRole("alert").filter({ hasText: "was used already" })).toBeVisible()
        await expect(page.getByRole("button", { name: "Export data" })).toBeVisible()
      }

      await page.goto("/account/settings")
      await page.getByRole("button", { name: "Delete account" }).click()
      const confirmation = javaScriptEnabled
        ? page.getByRole("dialog")
        : page.getByRole("region", { name: "Delete your account?" })
      await expect(confirmation).toContainText(account.email)
      await confirmation.getByRole("button", { name: "Delete account" }).click()
      await expect(page).toHaveURL(/\/sign-in\?deletion=requested$/)
      await expect(status(page)).toHaveText(
        "Your account is closed and will be deleted in 7 days. Until then you can sign in and undo the deletion.",
      )
      const email = await emailTo(account.email, "Subject: Your account will be deleted on")
      expect(email).toContain("sign in, and choose to keep your account")

      await page.goto("/account")
      await expect(page).toHaveURL(/\/sign-in/)
      await signIn(page, account)
      await expect(page).toHaveURL(/\/sign-in\/deletion$/)
      await expect(page.getByRole("main")).toContainText(account.email)
      await page.goto("/account")
      await expect(page).toHaveURL(/\/sign-in\/deletion$/)
      await page.getByRole("button", { name: "Keep the deletion" }).click()
      await expect(page).toHaveURL(/\/sign-in\?deletion=kept$/)
      await expect(status(page)).toHaveText(
        "You are not signed in. The account stays closed and will still be deleted.",
      )
      await signIn(page, account)
      await page.getByRole("button", { name: "Undo the deletion" }).click()
      await expect(page).toHaveURL(/\/account\?deletion=undone$/)
      await expect(status(page)).toHaveText(
        "Your account will not be deleted, and API keys that have not ended work again.",
      )
      await emailTo(account.email, "Subject: Your account will not be deleted")
    })
  })
}

test("canceling the deletion leaves the account as it is", { tag: "@long" }, async ({ page, signUp }) => {
  await signUp()
  await page.goto("/account/settings")
  await page.getByRole("button", { name: "Delete account" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
  await expect(page.getByRole("button", { name: "Delete account" })).toBeFocused()
  await page.reload()
  await expect(page.getByRole("heading", { name: "Settings" })).toBeVisible()
})

test("the settings with an export, a confirmation, and both messages are accessible", { tag: "@long" }, async ({
  page,
  signUp,
}) => {
  const account = await signUp()
  await page.setViewportSize(wide)
  await page.goto("/account/settings?delete=account")
  await page.getByRole("button", { name: "Export data" }).click()
  await expect(page.getByRole("heading", { name: "Your export is ready" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  const confirmation = page.getByRole("region", { name: "Delete your account?" })
  await confirmation.getByRole("button", { name: "Delete account" }).click()
  await expect(status(page)).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await signIn(page, account)
  await expect(page).toHaveURL(/\/sign-in\/deletion$/)
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("button", { name: "Undo the deletion" }).click()
  await expect(status(page)).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
})

test("staff delete an account, undo the deletion, and see the remaining data of an erased account", {
  tag: "@long",
}, async ({ page, browser, baseURL, database, signUp, signInAs }) => {
  const account = await signUp()
  const { id } = account
  await page.context().clearCookies()
  await signInAs("admin")
  await page.setViewportSize(wide)
  await page.goto(`/admin/users/${id}`)
  const act = async (action: string) => {
    await page.getByRole("button", { name: "Actions", exact: true }).click()
    await page.getByRole("button", { name: action }).click()
    const dialog = page.getByRole("dialog")
    await expect(dialog).toContainText(account.email)
    await dialog.getByRole("button", { name: action }).click()
  }
  await act("Delete account")
  await expect(page.getByText("The account will be deleted on")).toBeVisible()
  await expect(page.getByText("Two-factor authentication: Off")).toBeVisible()
  const notice = page.getByRole("main").getByText(/^Will be deleted on/)
  await expect(notice).toContainText("Until then, its owner can sign in and undo the deletion")
  await emailTo(account.email, "Our staff requested the deletion of your account")
  await page.getByRole("button", { name: "Actions", exact: true }).click()
  const offered = page.locator("#account-actions button")
  await expect(offered).toHaveText(["Revoke all keys", "Ban account", "Undo deletion"])
  await page.keyboard.press("Escape")
  await expectAccessibleWithoutSidewaysScroll(page)
  const listed = page
    .getByRole("row")
    .filter({ hasText: account.email })
    .getByText(/^Will be deleted on/)
  await page.goto(`/admin/users?${new URLSearchParams({ email: account.email })}`)
  await expect(listed).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.goto(`/admin/users/${id}`)
  await act("Undo deletion")
  await expect(page.getByText("The account will not be deleted. It is open again.")).toBeVisible()
  await expect(notice).toHaveCount(0)
  await emailTo(account.email, "Subject: Your account will not be deleted")
  await page.goto(`/admin/users?${new URLSearchParams({ email: account.email })}`)
  await expect(page.getByRole("row").filter({ hasText: account.email })).toBeVisible()
  await expect(listed).toHaveCount(0)
  await database.query("UPDATE users SET two_factor = true WHERE id = $1", [id])
  await page.goto(`/admin/users/${id}`)
  await expect(page.getByText("Two-factor authentication: On")).toBeVisible()
  await database.query("UPDATE users SET two_factor = false WHERE id = $1", [id])

  await act("Delete account")
  await expect(notice).toBeVisible()
  const other = await browser.newPage({ baseURL: String(baseURL) })
  await signIn(other, account)
  await other.getByRole("button", { name: "Undo the deletion" }).click()
  await expect(other).toHaveURL(/\/account\?deletion=undone$/)
  await other.close()

  // As the sweeper does it, without its delay of minutes.
  await database.query(
    "UPDATE users SET name = 'Deleted account', email = 'deleted+' || id || '@invalid', status = 'closed' WHERE id = $1",
    [id],
  )
  await database.query(
    `INSERT INTO account_deletions (user_id, requested_by_id, due_at, undoable, started_at, erased_at)
     VALUES ($1, $1, now(), true, now(), now())`,
    [id],
  )
  await page.goto(`/admin/users/${id}`)
  await expect(page.getByRole("heading", { name: "Deleted account" })).toBeVisible()
  await expect(page.getByText("The personal data of this account was deleted on request.")).toBeVisible()
  for (const action of ["Actions", "Grant credits", "Add note"]) {
    await expect(page.getByRole("button", { name: action, exact: true })).toHaveCount(0)
  }
  await expectAccessibleWithoutSidewaysScroll(page)
  await expect(page.getByText("Two-factor authentication")).toHaveCount(0)
  if (!isPresent("/admin/audit")) return
  await page.goto(`/admin/audit?targetId=${id}`)
  const entries = page.getByRole("row").filter({ hasText: "user.deletion_requested" })
  await expect(entries.first().getByRole("link", { name: "Deleted account" })).toHaveAttribute(
    "href",
    `/admin/users/${id}`,
  )
})
