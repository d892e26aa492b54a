import { expect, type Page } from "@playwright/test"
import { startOf } from "@/lib/keys/secret"
import { kinds } from "@/lib/surfaces"
import { test, uniqueName } from "./fixtures"
import { createKey, openDialog, row, saved, shownKey } from "./key-page"

// The key pages must not lose or leak a new key.

const day = 86_400_000

for (const { surface, path } of [
  { surface: "user", path: "/api-keys" },
  { surface: "admin", path: "/admin/api-keys" },
]) {
  test.describe(`${surface} keys`, () => {
    test.beforeEach(async ({ context, customer, signInAs, page }) => {
      if (surface === "user") await context.addCookies(customer.cookies)
      else await signInAs("finance")
      await page.goto(path)
    })

    test("a new key stays visible after Esc, clicks outside the dialog and two hours", async ({ page }) => {
      await page.clock.install()
      const key = await createKey(page, uniqueName("Outlasts"))
      await page.keyboard.press("Escape")
      await page.mouse.click(3, 3)
      await page.clock.runFor("02:00:00")
      await expect(page.getByLabel("New API key")).toHaveValue(key)
      await expect(page.getByRole("dialog").getByRole("button", { name: /close/i })).toHaveCount(0)
      await saved(page)
      await expect(page.getByRole("dialog")).toHaveCount(0)
    })

    test("a new key is listed without a reload, and the focus returns to the button", async ({ page }) => {
      let loads = 0
      page.on("load", () => loads++)
      const name = uniqueName("Listed")
      const key = await createKey(page, name)
      await saved(page)
      await expect(row(page, name)).toContainText("Active")
      await expect(row(page, name)).toContainText(`${startOf(key)}…`)
      await expect(row(page, name)).toContainText("Never used")
      await expect(page.getByRole("button", { name: "Create key" })).toBeFocused()
      expect(loads).toBe(0)
    })

    test("a key appears only in the response that created it", async ({ page, context }) => {
      const traces: string[] = []
      const responses: { name: string; body: string }[] = []
      page.on("console", (message) => traces.push(message.text()))
      page.on("request", (sent) => traces.push(sent.url(), sent.postData() ?? ""))
      // Bodies are read in transit, because the browser soon discards them.
      await page.route("**/*", async (route) => {
        const response = await route.fetch({ maxRedirects: 0 })
        const name = `${route.request().method()} ${new URL(response.url()).pathname}`
        responses.push({ name, body: await response.text() })
        await route.fulfill({ response })
      })
      const key = await createKey(page, uniqueName("Nowhere"))
      await saved(page)
      const tail = key.slice(12)

      await expect(page.locator("html")).not.toContainText(tail)
      traces.push(await pageState(page), JSON.stringify(await context.storageState()))
      await page.reload()
      traces.push(await pageState(page))
      await page.unrouteAll({ behavior: "wait" })
      for (const trace of traces) expect(trace).not.toContain(tail)
      const withKey = responses.filter(({ body }) => body.includes(tail))
      expect(withKey.map(({ name }) => name)).toEqual([`POST ${path}`])
    })

    test("Back asks for confirmation before it discards the key", async ({ page }) => {
      const name = uniqueName("Back")
      const key = await createKey(page, name)
      page.once("dialog", (dialog) => dialog.dismiss())
      await page.goBack()
      await expect(page.getByLabel("New API key")).toHaveValue(key)
      page.once("dialog", (dialog) => dialog.accept())
      await page.goBack()
      await expect(page.getByLabel("New API key")).toHaveCount(0)
      await page.goto(path)
      await expect(row(page, name)).toContainText("Active")
      expect(await pageState(page)).not.toContain(key.slice(12))
    })

    test("after the key is saved, the browser history has no extra entry", async ({ page }) => {
      await page.goto("/sign-in?error=SessionRequired")
      await page.goto(path)
      const before = await page.evaluate(() => history.length)
      await createKey(page, uniqueName("History"))
      await saved(page)
      expect(await page.evaluate(() => history.state?.keyShown)).toBeUndefined()
      expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(before + 1)
      await page.getByRole("button", { name: "Create key" }).click()
      await expect(page.getByRole("dialog")).toBeVisible()
      await page.keyboard.press("Escape")
      await expect(page.getByRole("dialog")).toHaveCount(0)
    })

    test("leaving the page asks for confirmation", async ({ page }) => {
      const key = await createKey(page, uniqueName("Leave"))
      const opened = page.waitForEvent("dialog")
      const leaving = page.evaluate(() => location.assign("/sign-up"))
      const dialog = await opened
      expect(dialog.type()).toBe("beforeunload")
      await dialog.dismiss()
      await leaving
      await expect(page.getByLabel("New API key")).toHaveValue(key)
    })

    test("a revoked key is shown as revoked, and its row gets the focus", async ({ page }) => {
      const name = uniqueName("Revoked")
      await createKey(page, name)
      await saved(page)
      const button = row(page, name).getByRole("button", { name: "Revoke" })
      await expect(button).toHaveAccessibleDescription(name)
      await button.click()
      const alert = page.getByRole("alertdialog", { name: "Revoke this key?" })
      await expect(alert).toHaveAccessibleDescription(new RegExp(`^${name}.*was never used`))
      await alert.getByRole("button", { name: "Cancel" }).click()
      await expect(alert).toHaveCount(0)
      await expect(button).toBeFocused()
      await expect(row(page, name)).toContainText("Active")
      await button.click()
      await alert.getByRole("button", { name: "Revoke key" }).click()
      await expect(row(page, name)).toContainText("Revoked")
      await expect(row(page, name)).not.toContainText("Active")
      await expect(button).toHaveCount(0)
      await expect(page.getByRole("rowheader", { name })).toBeFocused()
      await expect(page.getByText(`The key “${name}” is revoked.`)).toBeAttached()
    })
  })
}

test.describe("the form", () => {
  test.beforeEach(async ({ context, customer, page }) => {
    await context.addCookies(customer.cookies)
    await page.goto("/api-keys")
  })

  test("90 days are preselected, and every choice shows the expiration date", async ({ page }) => {
    const dialog = await openDialog(page)
    const expires = dialog.getByLabel("Expires")
    await expect(expires.locator("option")).toHaveText(["30 days", "90 days", "1 year", "Never", "A date"])
    await expect(expires).toHaveValue("90d")
    const longDate = (days: number) =>
      new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }).format(Date.now() + days * day)
    await expect(expires).toHaveAccessibleDescription(`Expires on ${longDate(90)}.`)
    await expires.selectOption("30 days")
    await expect(expires).toHaveAccessibleDescription(`Expires on ${longDate(30)}.`)
    await expires.selectOption("1 year")
    await expect(expires).toHaveAccessibleDescription(`Expires on ${longDate(365)}.`)
    await expires.selectOption("Never")
    await expect(expires).toHaveAccessibleDescription("Works until it is revoked.")
    await expect(dialog.getByLabel("Last day")).toBeHidden()
    await expires.selectOption("A date")
    await dialog.getByLabel("Last day").fill(new Date(Date.now() + 3 * day).toISOString().slice(0, 10))
    await expect(expires).toHaveAccessibleDescription(`Expires at the end of ${longDate(3)}, UTC.`)
  })

  test("a missing date is an error and never means a default lifetime", async ({ page }) => {
    const name = uniqueName("Undated")
    const dialog = await openDialog(page)
    await dialog.getByLabel("Name").fill(name)
    await dialog.getByLabel("Expires").selectOption("A date")
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByLabel("Last day")).toHaveAccessibleDescription(/Choose a date/)
    await expect(dialog.getByLabel("Last day")).toBeFocused()
    await expect(dialog.getByLabel("Name")).toHaveValue(name)
    await dialog.getByLabel("Last day").fill(new Date(Date.now() + 5 * day).toISOString().slice(0, 10))
    await dialog.getByRole("button", { name: "Create key" }).click()
    await shownKey(page)
    await saved(page)
    await expect(row(page, name)).toContainText(/Expires in [56] days/)
  })

  test("an invalid name is reported at its field, and the input stays", async ({ page }) => {
    const dialog = await openDialog(page)
    await dialog.getByLabel("Name").fill("   ")
    await dialog.getByLabel("Expires").selectOption("Never")
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByLabel("Name")).toHaveAccessibleDescription(/Name must not be empty\./)
    await expect(dialog.getByLabel("Name")).toHaveAttribute("aria-invalid", "true")
    await expect(dialog.getByLabel("Name")).toBeFocused()
    await expect(dialog.getByLabel("Expires")).toHaveValue("never")
  })

  test("Esc closes the form before a key is created; a click on the backdrop does not", async ({ page }) => {
    const dialog = await openDialog(page)
    await page.mouse.click(3, 3)
    await expect(dialog).toBeVisible()
    await page.keyboard.press("Escape")
    await expect(dialog).toHaveCount(0)
    await expect(page.getByRole("button", { name: "Create key" })).toBeFocused()
  })

  test("a retry after a lost response does not create a second key", async ({ page }) => {
    const name = uniqueName("Lost")
    const dialog = await openDialog(page)
    await dialog.getByLabel("Name").fill(name)
    await page.route("**/api-keys", async (route) => {
      await route.fetch()
      await route.abort()
    })
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByRole("alert")).toContainText("There was no response.")
    await page.unroute("**/api-keys")
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByRole("heading", { name: "This key was already created" })).toBeVisible()
    await dialog.getByRole("link", { name: "Back to the list" }).click()
    await expect(row(page, name)).toHaveCount(1)
  })

  test("Cancel and Esc do not close the dialog while the key is being created", async ({ page }) => {
    const dialog = await openDialog(page)
    await dialog.getByLabel("Name").fill(uniqueName("Slow"))
    let cancelled = () => {}
    const isCancelled = new Promise<void>((done) => {
      cancelled = done
    })
    await page.route("**/api-keys", async (route) => {
      if (route.request().method() === "POST") await isCancelled
      await route.continue()
    })
    await dialog.getByRole("button", { name: "Create key" }).click()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await page.keyboard.press("Escape")
    cancelled()
    await shownKey(page)
    await saved(page)
  })

  test("the 26th working key is refused with the limit and the remedy", async ({ page, signUp, database }) => {
    const { email } = await signUp()
    await page.goto("/api-keys")
    const dialog = await openDialog(page)
    await database.query(
      `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
       SELECT gen_random_uuid(), users.id, 'user', 'Filler', '${kinds.user.prefix}fill', sha256(gen_random_uuid()::text::bytea), gen_random_uuid()
       FROM users, generate_series(1, 25) WHERE email = $1`,
      [email],
    )
    await dialog.getByLabel("Name").fill("One too many")
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByRole("alert")).toHaveText(/25 active keys.*Revoke one/)
  })
})

test.describe("copying", () => {
  test.beforeEach(async ({ context, customer, page }) => {
    await context.addCookies(customer.cookies)
    await page.goto("/api-keys")
  })

  test("copying puts exactly the key in the clipboard, reports it in a live region and stays on the page", async ({
    page,
    context,
  }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"])
    const key = await createKey(page, uniqueName("Copied"))
    const status = page.getByRole("dialog").getByRole("status").first()
    await expect(status).toBeAttached()
    await expect(status).toHaveText("")
    await page.getByRole("button", { name: "Copy key" }).click()
    await expect(status).toHaveText("Copied")
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)
    await expect(page.getByLabel("New API key")).toHaveValue(key)
    await expect(page).toHaveURL(/\/api-keys$/)
  })

  for (const { failure, script } of [
    { failure: "is missing", script: "delete Navigator.prototype.clipboard" },
    { failure: "refuses", script: "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))" },
  ]) {
    test(`if the clipboard ${failure}, the key is selected and the page says so`, async ({ page }) => {
      await page.addInitScript(script)
      await page.reload()
      const key = await createKey(page, uniqueName("Selected"))
      await page.getByRole("button", { name: "Copy key" }).click()
      await expect(page.getByText("The text is selected: press Ctrl+C")).toBeVisible()
      await expect(page.getByLabel("New API key")).toBeFocused()
      expect(await page.evaluate(() => getSelection()?.toString())).toBe(key)
    })
  }
})

test("an expired key is not shown as active, and a key that expires soon shows when", async ({
  page,
  signUp,
  database,
}) => {
  const { email } = await signUp()
  await page.goto("/api-keys")
  const [expired, soon] = [uniqueName("Expired"), uniqueName("Soon")]
  for (const name of [expired, soon]) {
    await createKey(page, name)
    await saved(page)
  }
  const expire =
    "UPDATE api_keys SET expires_at = now() + $1::interval FROM users WHERE users.id = user_id AND email = $2"
  await database.query(`${expire} AND api_keys.name = $3`, ["-1 second", email, expired])
  await database.query(`${expire} AND api_keys.name = $3`, ["3 days 1 hour", email, soon])
  await page.reload()
  await expect(row(page, expired)).toContainText("Expired")
  await expect(row(page, expired)).not.toContainText("Active")
  await expect(row(page, expired).getByRole("button", { name: "Revoke" })).toHaveCount(0)
  await expect(row(page, soon)).toContainText("Expires in 3 days")
})

test("the test call of an admin key uses an endpoint that its owner may read", async ({ page, signInAs }) => {
  await signInAs("bookkeeper")
  await page.goto("/admin/api-keys")
  await createKey(page, uniqueName("Books"))
  await expect(page.getByText("GET /api/v1/admin/orders?limit=1")).toBeVisible()
  await page.getByRole("button", { name: "Test it now" }).click()
  await expect(page.getByText("Status 200: the key works")).toBeVisible()
  await expect(page.getByRole("dialog")).toContainText('"total"')
})

/** Everything that the page and the browser's storage contain. */
function pageState(page: Page): Promise<string> {
  return page.evaluate(() =>
    [
      document.documentElement.outerHTML,
      location.href,
      document.cookie,
      JSON.stringify(history.state),
      JSON.stringify({ ...localStorage }),
      JSON.stringify({ ...sessionStorage }),
      [...document.querySelectorAll("input, textarea")].map((field) => (field as HTMLInputElement).value).join(" "),
    ].join("\n"),
  )
}
