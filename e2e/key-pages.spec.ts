import { type APIRequestContext, expect, type Page } from "@playwright/test"
import { startOf } from "@/lib/keys/secret"
import { plainDate } from "@/lib/platform/text/format-time"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"
import { sampled } from "@/tests/support/sample"
import { work } from "@/tests/support/work"
import { test, uniqueName } from "./fixtures"
import {
  choosePermission,
  createKey,
  openDialog,
  outcome,
  press,
  rotateKey,
  row,
  rowButton,
  saved,
  shownKey,
  testKey,
  unfoldLimits,
} from "./key-page"
import { hydrated } from "./pages"

// The key pages must not lose or leak a new key.

const day = 86_400_000

for (const surface of surfaces) {
  const path = kinds[surface].page
  test.describe(`${surface} keys`, () => {
    test.beforeEach(async ({ context, customer, signInAs, page }) => {
      if (surface === "user") await context.addCookies(customer.cookies)
      else await signInAs("finance")
      await page.goto(path)
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
      const tail = key.slice(startOf(key).length)

      await expect(page.locator("html")).not.toContainText(tail)
      traces.push(await pageState(page), JSON.stringify(await context.storageState()))
      await page.reload()
      traces.push(await pageState(page))
      await page.unrouteAll({ behavior: "wait" })
      for (const trace of traces) expect(trace).not.toContain(tail)
      const withKey = responses.filter(({ body }) => body.includes(tail))
      expect(withKey.map(({ name }) => name)).toEqual([`POST ${path}`])
    })
  })
}

for (const surface of sampled(["user", "admin"] as const)) {
  const path = kinds[surface].page
  test.describe(`${surface} keys`, () => {
    test.beforeEach(async ({ context, customer, signInAs, page }) => {
      if (surface === "user") await context.addCookies(customer.cookies)
      else await signInAs("finance")
      await page.goto(path)
    })

    test.describe("in a new tab", () => {
      test.use({ ownContext: true })

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

      test("after the key is saved, the browser history has no extra entry", { tag: "@long" }, async ({ page }) => {
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
    })

    test("a new key is listed without a reload, and the focus returns to the button", { tag: "@long" }, async ({
      page,
    }) => {
      let loads = 0
      page.on("load", () => loads++)
      const name = uniqueName("Listed")
      const key = await createKey(page, name)
      await saved(page)
      await expect(row(page, name)).toContainText("Active")
      await expect(row(page, name)).toContainText(`${startOf(key)}…`)
      await expect(row(page, name)).toContainText("Never used")
      await expect(page.getByRole("button", { name: "Create key" })).toBeFocused()
      const columns = ["Selection", "Key", "Status", "Created", "Last used", "Expires", "Actions"]
      await expect(page.getByRole("columnheader")).toHaveText(columns)
      expect(loads).toBe(0)
    })

    test("the row beside a new key shows that it was used by a call from the page", { tag: "@long" }, async ({
      page,
    }) => {
      await page.goto(`${path}?new`)
      const name = uniqueName("Beside")
      await page.getByLabel("Name").fill(name)
      await choosePermission(page.getByRole("main"))
      await page.getByRole("button", { name: "Create key" }).click()
      const key = await shownKey(page)
      await expect(row(page, name)).toContainText("Never used")
      await testKey(page, surface)
      await expect(row(page, name)).not.toContainText("Never used")
      await expect(page.getByLabel("New API key")).toHaveValue(key)
      await saved(page)
      await expect(row(page, name).locator(":focus")).toHaveText(name)
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
      expect(await pageState(page)).not.toContain(key.slice(startOf(key).length))
    })

    test("leaving the page asks for confirmation", { tag: "@long" }, async ({ page }) => {
      const key = await createKey(page, uniqueName("Leave"))
      const opened = page.waitForEvent("dialog")
      const leaving = page.evaluate(() => location.assign("/sign-up"))
      const dialog = await opened
      expect(dialog.type()).toBe("beforeunload")
      await dialog.dismiss()
      await leaving
      await expect(page.getByLabel("New API key")).toHaveValue(key)
    })

    test("a revoked key leaves the list, the link to its report gets the focus, and a link shows it with its reason", {
      tag: "@long",
    }, async ({ page }) => {
      const name = uniqueName("Revoked")
      await createKey(page, name)
      await saved(page)
      const button = rowButton(page, name, "Revoke")
      await expect(button).toHaveAccessibleDescription(name)
      await press(button)
      const alert = page.getByRole("dialog", { name: "Revoke this key?" })
      await expect(alert).toHaveAccessibleDescription(new RegExp(`^${name}.*was never used`))
      await alert.getByRole("button", { name: "Cancel" }).click()
      await expect(alert).toHaveCount(0)
      await expect(button).toBeFocused()
      await expect(row(page, name)).toContainText("Active")
      await press(button)
      await alert.getByLabel("Reason").selectOption("It leaked")
      await alert.getByRole("button", { name: "Revoke key" }).click()
      const message = page.getByRole("status").filter({ hasText: `The key “${name}” is revoked.` })
      await expect(message.getByRole("link", { name: "See what it read." })).toBeFocused()
      await expect(row(page, name)).toHaveCount(0)
      await page.getByRole("link", { name: /^Show \d+ revoked$/ }).click()
      await expect(row(page, name)).toContainText(/Revoked\s*It leaked, just now/)
      await expect(row(page, name)).not.toContainText("Active")
      await expect(button).toHaveCount(0)
      await page.getByRole("link", { name: "Hide revoked" }).click()
      await expect(row(page, name)).toHaveCount(0)
    })

    test("a rotated key keeps working for the chosen grace period, as part of the new key's row", async ({
      page,
      request,
    }) => {
      const name = uniqueName("Rotated")
      const old = await createKey(page, name)
      await saved(page)
      const key = await rotateKey(page, name, "7 days")
      expect(key).not.toBe(old)
      await expect(page.getByRole("dialog")).toContainText(/The old key works until \d+ \w+ \d{4}, \d\d:\d\d UTC\./)
      await page.keyboard.press("Escape")
      await expect(page.getByLabel("New API key")).toHaveValue(key)
      await saved(page)

      await expect(row(page, name)).toHaveCount(1)
      await expect(row(page, name)).toContainText(`${startOf(key)}…`)
      const replaces = row(page, name).getByText(new RegExp(`^Replaces ${startOf(old)}…, valid until`))
      await expect(replaces).toBeFocused()
      const present = await ownKey(request, surface, key)
      expect(present.headers()["key-expires"]).toBeUndefined()
      expect((await present.json()).data.name).toBe(name)
      const end = Date.parse(String((await ownKey(request, surface, old)).headers()["key-expires"]))
      expect(Math.abs(end - Date.now() - 7 * day)).toBeLessThan(10 * 60_000)

      // Both were used just now, so the row does not say that the old key is unused.
      await page.reload()
      await expect(replaces).toHaveText(/; last used just now(; the new key was not used since)?\.$/)
      await press(rowButton(page, name, "Revoke old key"))
      const dialog = page.getByRole("dialog")
      await expect(dialog).toContainText(`(${startOf(old)}…) was last used just now.`)
      await expect(dialog).toContainText(`The key that replaced it, ${startOf(key)}…, was last used just now.`)
      await expect(dialog.getByLabel("Reason").locator("option:checked")).toHaveText("Replaced")
      await page.getByRole("button", { name: "Revoke key" }).click()
      await expect(page.getByText(`The key “${name}” is revoked.`)).toBeVisible()
      await expect(replaces).toHaveCount(0)
      expect((await ownKey(request, surface, old)).status()).toBe(401)
      expect((await ownKey(request, surface, key)).status()).toBe(200)
    })
  })
}

test.describe("the form", () => {
  test.beforeEach(async ({ context, customer, page }) => {
    await context.addCookies(customer.cookies)
    await page.goto("/api-keys")
  })

  test("90 days are preselected, and every choice shows the expiration date", { tag: "@long" }, async ({ page }) => {
    const dialog = await openDialog(page)
    const expires = dialog.getByLabel("Expires")
    await expect(expires.locator("option")).toHaveText(["30 days", "90 days", "1 year", "Never", "A date"])
    await expect(expires).toHaveValue("90d")
    const dateIn = (days: number) => plainDate(new Date(Date.now() + days * day))
    await expect(expires).toHaveAccessibleDescription(`Expires on ${dateIn(90)}.`)
    await expires.selectOption("30 days")
    await expect(expires).toHaveAccessibleDescription(`Expires on ${dateIn(30)}.`)
    await expires.selectOption("1 year")
    await expect(expires).toHaveAccessibleDescription(`Expires on ${dateIn(365)}.`)
    await expires.selectOption("Never")
    await expect(expires).toHaveAccessibleDescription("Works until it is revoked.")
    await expect(dialog.getByLabel("Last day")).toBeHidden()
    await expires.selectOption("A date")
    await dialog.getByLabel("Last day").fill(new Date(Date.now() + 3 * day).toISOString().slice(0, 10))
    await expect(expires).toHaveAccessibleDescription(`Expires at the end of ${dateIn(3)}, UTC.`)
  })

  test("a missing date is an error and never means a default lifetime", { tag: "@long" }, async ({ page }) => {
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

  test("an invalid name is reported at its field, and the input stays; Esc closes the form, and a click on the backdrop does not", {
    tag: "@long",
  }, async ({ page }) => {
    const dialog = await openDialog(page)
    await dialog.getByLabel("Name").fill("   ")
    await dialog.getByLabel("Expires").selectOption("Never")
    await dialog.getByRole("button", { name: "Create key" }).click()
    await expect(dialog.getByLabel("Name")).toHaveAccessibleDescription(/Name must not be empty\./)
    await expect(dialog.getByLabel("Name")).toHaveAttribute("aria-invalid", "true")
    await expect(dialog.getByLabel("Name")).toBeFocused()
    await expect(dialog.getByLabel("Expires")).toHaveValue("never")
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

  test("Cancel and Esc do not close the dialog while the key is being created", { tag: "@long" }, async ({ page }) => {
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

test.describe("the limits of a new key", () => {
  test.beforeEach(async ({ context, customer, page }) => {
    await context.addCookies(customer.cookies)
    await page.goto("/api-keys")
  })

  test("are folded, with every permission chosen; a key without a permission is refused calls that need it", async ({
    page,
    request,
  }) => {
    const name = uniqueName("Reader")
    const dialog = await openDialog(page)
    await expect(dialog.getByRole("group", { name: "Permissions" })).toBeHidden()
    await unfoldLimits(dialog)
    const permissions = dialog.getByRole("group", { name: "Permissions" })
    await expect(permissions.getByRole("checkbox", { checked: true })).toHaveCount(2)
    await permissions.getByRole("checkbox", { name: "run Make metered calls" }).uncheck()
    await dialog.getByLabel("Name").fill(name)
    await dialog.getByRole("button", { name: "Create key" }).click()
    const key = await shownKey(page)
    await saved(page)
    await expect(row(page, name)).toContainText(`${startOf(key)}… readActive`)
    expect(await statusOf(request, key)).toEqual([200, undefined])
    expect(await run(request, key)).toEqual([403, "missing_scope"])
  })

  test("of addresses: the page warns that the viewer's address is not among them, and only they may use the key", {
    tag: "@long",
  }, async ({ page, request }) => {
    const name = uniqueName("Office")
    const dialog = await openDialog(page)
    await unfoldLimits(dialog)
    await dialog.getByLabel("Name").fill(name)
    await dialog.getByLabel("Allowed IP addresses").fill("203.0.113.0/24\n2001:db8::7")
    await dialog.getByRole("button", { name: "Create key" }).click()
    const key = await shownKey(page)
    await expect(dialog.getByText("It does not work from your own address")).toBeVisible()
    await testKey(page, "user")
    await expect(outcome(page)).toContainText("Status 403: This key does not work from ")
    await expect(outcome(page).locator("div")).toHaveClass(/text-bad/)
    await expect(dialog.getByRole("heading", { name: "The call failed" })).toBeVisible()
    const [next] = await Promise.all([
      page.waitForEvent("popup"),
      outcome(page)
        .getByRole("link", { name: /^Add [\d.:a-f]+ to this key$/ })
        .click(),
    ])
    await expect(next.getByLabel("Allowed IP addresses")).toHaveValue("203.0.113.0/24\n2001:db8::7")
    await next.close()
    await expect(page.getByLabel("New API key")).toHaveValue(key)
    await saved(page)
    await expect(row(page, name)).toContainText("2 addresses")
    expect(await statusOf(request, key, { "X-Forwarded-For": "203.0.113.9" })).toEqual([200, undefined])
    expect(await statusOf(request, key, { "X-Forwarded-For": "2001:db8::7" })).toEqual([200, undefined])
    expect(await statusOf(request, key, { "X-Forwarded-For": "2001:db8::8" })).toEqual([403, "address_not_allowed"])
  })

  test("of spending and of requests: they are listed and enforced", { tag: "@long" }, async ({ page, request }) => {
    const name = uniqueName("Capped")
    const dialog = await openDialog(page)
    await unfoldLimits(dialog)
    await dialog.getByLabel("Name").fill(name)
    await dialog.getByLabel("Spending limit").fill("1")
    await dialog.getByLabel("Period").selectOption("in total")
    await dialog.getByLabel("Requests per minute").fill("60")
    // "In total" is a period without an end. The key still expires.
    await expect(dialog.getByLabel("Expires")).toHaveAccessibleDescription(/^Expires on \d+ \w+ \d{4}\.$/)
    await dialog.getByRole("button", { name: "Create key" }).click()
    const key = await shownKey(page)
    await saved(page)
    await expect(row(page, name)).toContainText("0 of 1 credit in total · 60 requests per minute")
    expect(await run(request, key)).toEqual([200, undefined])
    await page.reload()
    await expect(row(page, name)).toContainText("1 of 1 credit in total")
    expect(await run(request, key)).toEqual([402, "key_limit_reached"])
  })

  test("are unfolded when one of them has an error at its field; the input stays", { tag: "@long" }, async ({
    page,
  }) => {
    const name = uniqueName("Corrected")
    const dialog = await openDialog(page)
    await unfoldLimits(dialog)
    for (const box of await dialog.getByRole("checkbox").all()) await box.uncheck()
    await dialog.getByLabel("Name").fill(name)
    await dialog.getByLabel("Spending limit").fill("1e3")
    await dialog.getByLabel("Requests per minute").fill("301")
    await dialog.getByLabel("Allowed IP addresses").fill("203.0.113.7\noffice")
    await unfoldLimits(dialog)
    await expect(dialog.getByLabel("Spending limit")).toBeHidden()
    await dialog.getByRole("button", { name: "Create key" }).click()
    const permissions = dialog.getByRole("group", { name: "Permissions" })
    await expect(permissions).toHaveAccessibleDescription(/Choose at least one permission\./)
    await expect(permissions.getByRole("checkbox").first()).toBeFocused()
    await expect(dialog.getByLabel("Spending limit")).toHaveAccessibleDescription(/whole number from 0 to/)
    await expect(dialog.getByLabel("Requests per minute")).toHaveAccessibleDescription(/whole number from 1 to 300/)
    await expect(dialog.getByLabel("Allowed IP addresses")).toHaveAccessibleDescription(
      /“office” is neither an IP address/,
    )
    await expect(dialog.getByLabel("Allowed IP addresses")).toHaveValue("203.0.113.7\noffice")
    await dialog.getByLabel("Spending limit").fill("1000")
    await expect(dialog.getByLabel("Spending limit")).toHaveAccessibleDescription(
      "In credits. Leave empty for no limit.",
    )
    await expect(dialog.getByLabel("Spending limit")).not.toHaveAttribute("aria-invalid")
    await expect(dialog.getByLabel("Requests per minute")).toHaveAttribute("aria-invalid", "true")
    await permissions.getByRole("checkbox").first().check()
    await expect(permissions).toHaveAccessibleDescription("They cannot be changed later.")
    for (const label of ["Spending limit", "Requests per minute", "Allowed IP addresses"]) {
      await dialog.getByLabel(label).fill("")
    }
    await dialog.getByRole("button", { name: "Create key" }).click()
    await shownKey(page)
    await saved(page)
    await expect(row(page, name)).toHaveCount(1)
  })
})

test.describe("a key of one's own", () => {
  test.beforeEach(async ({ context, customer, page }) => {
    await context.addCookies(customer.cookies)
    await page.goto("/api-keys")
  })

  test("changes its name and its limits, with a warning about the viewer's own address", { tag: "@long" }, async ({
    page,
    request,
  }) => {
    const [name, changed] = [uniqueName("Before"), uniqueName("After")]
    const key = await createKey(page, name)
    await saved(page)
    await row(page, name).getByRole("button", { name: "Edit" }).click()
    const dialog = page.getByRole("dialog", { name: "Edit this key" })
    await expect(dialog.getByLabel("Name")).toHaveValue(name)
    await expect(dialog.getByRole("checkbox")).toHaveCount(0)
    await dialog.getByLabel("Name").fill(" ")
    await dialog.getByRole("button", { name: "Save changes" }).click()
    await expect(dialog.getByLabel("Name")).toHaveAccessibleDescription(/must not be empty/)
    await dialog.getByLabel("Name").fill(changed)
    await dialog.getByLabel("Spending limit").fill("50")
    await dialog.getByLabel("Allowed IP addresses").fill("203.0.113.7")
    await dialog.getByRole("button", { name: "Save changes" }).click()
    await expect(page.getByRole("status").filter({ hasText: `The key “${changed}” is changed.` })).toContainText(
      "It does not work from your own address",
    )
    await expect(row(page, changed)).toContainText("0 of 50 credits this month · 1 address")
    await expect(row(page, changed).locator(":focus")).toHaveText(changed)
    expect(await statusOf(request, key)).toEqual([403, "address_not_allowed"])

    await row(page, changed).getByRole("button", { name: "Edit" }).click()
    await expect(dialog.getByLabel("Spending limit")).toHaveValue("50")
    await expect(dialog.getByLabel("Allowed IP addresses")).toHaveValue("203.0.113.7")
    for (const label of ["Spending limit", "Allowed IP addresses"]) await dialog.getByLabel(label).fill("")
    await dialog.getByRole("button", { name: "Save changes" }).click()
    await expect(row(page, changed)).not.toContainText("address")
    await expect(row(page, changed)).not.toContainText("credits")
    expect(await statusOf(request, key)).toEqual([200, undefined])
  })

  test("that leaked is revoked at once when it is rotated", { tag: "@long" }, async ({ page, request }) => {
    const name = uniqueName("Leaked")
    const old = await createKey(page, name)
    await saved(page)
    const key = await rotateKey(page, name, "It leaked: revoke it now")
    await expect(page.getByRole("dialog")).toContainText("The old key no longer works.")
    expect(await statusOf(request, old)).toEqual([401, "unauthorized"])
    expect(await statusOf(request, key)).toEqual([200, undefined])
    await saved(page)
    await expect(row(page, name)).toHaveCount(1)
    await expect(row(page, name)).not.toContainText("Replaces")
    await page.goto("/api-keys?show=all")
    await expect(row(page, name)).toHaveCount(2)
    await expect(row(page, name).last()).toContainText(/Revoked\s*It leaked/)
  })

  test("makes one successor when its rotation is submitted again after a lost response", { tag: "@long" }, async ({
    page,
  }) => {
    const name = uniqueName("Once")
    await createKey(page, name)
    await saved(page)
    await row(page, name).getByRole("button", { name: "Rotate" }).click()
    const dialog = page.getByRole("dialog")
    await page.route("**/api-keys", async (route) => {
      await route.fetch()
      await route.abort()
    })
    await dialog.getByRole("button", { name: "Rotate key" }).click()
    await expect(dialog.getByRole("alert")).toContainText("There was no response.")
    await page.unroute("**/api-keys")
    await dialog.getByRole("button", { name: "Rotate key" }).click()
    await expect(dialog.getByRole("heading", { name: "This key was already created" })).toBeVisible()
    await dialog.getByRole("link", { name: "Back to the list" }).click()
    await expect(row(page, name)).toHaveCount(1)
    await expect(row(page, name)).toContainText("Replaces")
  })

  test("that replaced a working key is revoked with it unless its owner chooses otherwise", {
    tag: "@long",
  }, async ({ page, request }) => {
    const name = uniqueName("Chain")
    const old = await createKey(page, name)
    await saved(page)
    const key = await rotateKey(page, name, "7 days")
    await saved(page)
    await press(rowButton(page, name, "Revoke"))
    const dialog = page.getByRole("dialog", { name: "Revoke this key?" })
    await expect(dialog.getByLabel("Revoke that key, too")).toBeChecked()
    await dialog.getByRole("button", { name: "Revoke key" }).click()
    await expect(page.getByText(`The key “${name}” and the key that it replaced are revoked.`)).toBeVisible()
    expect(await Promise.all([old, key].map((one) => statusOf(request, one)))).toEqual([
      [401, "unauthorized"],
      [401, "unauthorized"],
    ])
  })

  test("that replaced a working key shows that before it is rotated again", { tag: "@long" }, async ({ page }) => {
    const name = uniqueName("Again")
    await createKey(page, name)
    await saved(page)
    await rotateKey(page, name, "1 hour")
    await saved(page)
    await row(page, name).getByRole("button", { name: "Rotate" }).click()
    const dialog = page.getByRole("dialog")
    await expect(dialog).toContainText("The key that this one replaced works until")
    const grace = dialog.getByLabel("How long the old key keeps working")
    await expect(grace.locator("option")).toHaveText(["Choose", "It leaked: revoke it now"])
    await dialog.getByRole("button", { name: "Rotate key" }).click()
    await expect(dialog.getByRole("alert")).toHaveText("Choose how long the old key keeps working.")
    await expect(grace).toBeFocused()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await expect(row(page, name).getByRole("button", { name: "Rotate" })).toBeFocused()
  })
})

test("when the successor is revoked, the replaced key is a row of its own again", { tag: "@long" }, async ({
  page,
  signUp,
}) => {
  await signUp()
  await page.goto("/api-keys")
  const name = uniqueName("Pair")
  const old = await createKey(page, name)
  await saved(page)
  await rotateKey(page, name, "24 hours")
  await saved(page)
  await row(page, name).getByRole("button", { name: "Revoke", exact: true }).click()
  await page.getByLabel("Revoke that key, too").uncheck()
  await page.getByRole("button", { name: "Revoke key" }).click()
  await expect(row(page, name)).toContainText(`${startOf(old)}…`)
  await expect(row(page, name).getByRole("button")).toHaveText(["Edit", "Revoke"])
  await expect(page.getByRole("link", { name: "Show 1 revoked" })).toBeVisible()
})

test("keys with a problem are marked, counted and can be filtered", { tag: "@long" }, async ({
  page,
  signUp,
  database,
}) => {
  const { email } = await signUp()
  await page.goto("/api-keys")
  const [fine, forever, forgotten] = ["Fine", "Forever", "Forgotten"].map(uniqueName) as [string, string, string]
  await createKey(page, fine)
  await saved(page)
  await expect(page.getByLabel("Health")).toHaveCount(0)
  for (const name of [forever, forgotten]) {
    await createKey(page, name, "Never")
    await saved(page)
  }
  await database.query(
    `UPDATE api_keys SET created_at = now() - interval '8 days' FROM users
     WHERE users.id = user_id AND email = $1 AND api_keys.name = $2`,
    [email, forgotten],
  )
  await page.reload()
  await expect(page.getByLabel("Health").locator("option")).toHaveText([
    "All keys",
    "Any problem (2)",
    "Never used (1)",
    "No expiry (2)",
  ])
  await expect(page.locator("td .text-warn")).toHaveText(["Never", "Never used", "Never"])
  await hydrated(page)
  await page.getByLabel("Health").selectOption("Never used (1)")
  await expect(page).toHaveURL(/health=never_used/)
  await expect(page.getByRole("rowheader")).toHaveText([new RegExp(`^${forgotten}`)])
  await page.getByRole("link", { name: "Clear" }).click()
  await expect(page.getByRole("rowheader")).toHaveCount(3)
})

test("a manager can only revoke other accounts' admin keys, and the overview counts keys with a problem", {
  tag: "@long",
}, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin")
  const needed = page.getByRole("link", { name: /^\d+ admin keys? needs? attention$/ })
  const count = Number.parseInt(String(await needed.textContent()), 10)
  await needed.click()
  await expect(page.getByLabel("Health")).toHaveValue("any")
  await expect(page.getByLabel("Health").locator("option:checked")).toHaveText(`Any problem (${count})`)
  await expect(page.getByRole("rowheader")).toHaveCount(count)
  const foreign = page.getByRole("row", { name: /finance@example\.com/ }).first()
  await expect(foreign.getByRole("button")).toHaveText(["Revoke"])
  const own = page.getByRole("row", { name: /admin@example\.com/ }).first()
  await expect(own.getByRole("button")).toHaveText(["Rotate", "Edit", "Revoke"])
  await signInAs("support")
  await page.goto("/admin")
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible()
  await expect(needed).toHaveCount(0)
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
    const below = page.getByRole("button", { name: "I have saved this key" })
    const place = await below.boundingBox()
    await page.getByRole("button", { name: "Copy key" }).click()
    await expect(status).toHaveText("Copied")
    expect(await below.boundingBox()).toEqual(place)
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)
    await expect(page.getByLabel("New API key")).toHaveValue(key)
    await expect(page).toHaveURL(/\/api-keys$/)
  })

  test.describe("without a clipboard", () => {
    test.use({ ownContext: true })

    for (const { failure, script } of [
      { failure: "is missing", script: "delete Navigator.prototype.clipboard" },
      { failure: "refuses", script: "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))" },
    ]) {
      test(`if the clipboard ${failure}, the key is selected and the page says so`, { tag: "@long" }, async ({
        page,
      }) => {
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
})

test("an expired key is not shown as active, and a key that expires soon shows the time", { tag: "@long" }, async ({
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

test("a new admin key has no permission ticked at first, and presets tick them", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/admin/api-keys")
  const dialog = await openDialog(page)
  const name = uniqueName("Preset")
  await dialog.getByLabel("Name").fill(name)
  const permissions = dialog.getByRole("group", { name: "Permissions" })
  const ticked = permissions.getByRole("checkbox", { checked: true })
  await expect(ticked).toHaveCount(0)
  await permissions.getByRole("button", { name: "Everything (not advised)" }).click()
  await expect(permissions.getByRole("checkbox", { checked: false })).toHaveCount(0)
  await permissions.getByRole("button", { name: "Finance" }).click()
  await expect(ticked).toHaveCount(3)
  await dialog.getByRole("button", { name: "Create key" }).click()
  await shownKey(page)
  await saved(page)
  await expect(row(page, name)).toContainText("admin.access, billing.read, credits.read")
  await expect(row(page, name)).not.toContainText("Every permission")
})

test("the test call of an admin key uses an endpoint that every admin key may read, without a run", {
  tag: "@long",
}, async ({ page, signInAs }) => {
  await signInAs("bookkeeper")
  await page.goto("/admin/api-keys")
  await createKey(page, uniqueName("Books"))
  await page.getByRole("tab", { name: "curl" }).click()
  await expect(page.getByLabel("Request in curl")).toHaveValue(/^curl ".*\/api\/v1\/admin\/key"/)
  await testKey(page, "admin")
  await expect(outcome(page)).toHaveText("Status 200: the key works")
  await expect(page.getByRole("dialog")).toContainText('"scopes"')
  // Without the permission for the log of all requests, the page of an own one.
  await expect(page.getByRole("link", { name: "Open the request" })).toHaveAttribute("href", /^\/account\/requests\//)
  await expect(page.getByRole("button", { name: /^Run/ })).toHaveText(["Run this call"])
})

function ownKey(request: APIRequestContext, surface: Surface, key: string) {
  return request.get(`${kinds[surface].api}/key`, { headers: { "x-api-key": key } })
}

async function statusOf(request: APIRequestContext, key: string, headers: Record<string, string> = {}) {
  const response = await request.get("/api/v1/me", { headers: { ...headers, Authorization: `Bearer ${key}` } })
  return [response.status(), (await response.json()).error?.code]
}

async function run(request: APIRequestContext, key: string) {
  const headers = { Authorization: `Bearer ${key}` }
  const response = await request.post(work.path, {
    headers: { ...headers, "content-type": "application/json" },
    data: work.body,
  })
  return [response.status(), (await response.json()).error?.code]
}

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
