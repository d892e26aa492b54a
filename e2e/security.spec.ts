import { randomUUID } from "node:crypto"
import { type Browser, expect, type Page } from "@playwright/test"
import type pg from "pg"
import { resetTokenIn, verificationTokenIn } from "@/tests/support/mail-server"
import { scripting } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { createAccount, incorrect, startSession, test, uniqueEmail } from "./fixtures"
import { emailsTo, emailTo } from "./mail"
import { hydrated } from "./pages"

const old = "correct horse battery staple"
const password = "four words make sense"
const common = "Password1234"

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a new password signs out every other browser and keeps this one", async ({
      page,
      browser,
      database,
      signUp,
    }) => {
      const { id, email } = await signUp()
      const other = await signedInElsewhere(browser, database, id)
      await page.goto("/account/security")
      await changePassword(page, old, password)
      const heading = page.getByRole("heading", { name: "Your password was changed" })
      await expect(heading).toBeVisible()
      if (javaScriptEnabled) await expect(heading).toBeFocused()

      await other.goto("/api-keys")
      await expect(other).toHaveURL(/\/sign-in/)
      await signIn(other, email, old)
      await expect(other.getByRole("main").getByRole("alert")).toHaveText(incorrect)
      await signIn(other, email, password)
      await expect(other).toHaveURL(/\/account$/)
      await other.context().close()

      await page.goto("/account/security")
      await expect(page.getByRole("heading", { name: "Change password" })).toBeVisible()
      await emailTo(email, "Subject: Your password was changed")
    })

    test("the address changes by a link to the new one, and a link to the old one undoes it", async ({
      page,
      database,
      signUp,
    }) => {
      const [{ email }, next] = [await signUp(), uniqueEmail()]
      await page.goto("/account/security")
      await page.getByLabel("New email address").fill(next)
      await page.getByRole("button", { name: "Send confirmation link" }).click()
      await expect(page.getByRole("heading", { name: "Check the new address" })).toBeVisible()

      await page.goto(`/verify/${verificationTokenIn(await emailTo(next, "/verify/"))}`)
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await page.getByRole("button", { name: "Change address" }).click()
      await expect(page.getByRole("heading", { name: "Your address was changed" })).toBeVisible()
      await page.getByRole("link", { name: "Go to your account" }).click()
      await expect(page.getByText(`You sign in as ${next}.`)).toBeVisible()

      await page.goto(`/verify/${verificationTokenIn(await emailTo(email, "/verify/"))}`)
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await page.getByRole("button", { name: "Undo the change" }).click()
      await expect(page.getByRole("heading", { name: "Your address is restored" })).toBeVisible()
      await page.goto("/account/security")
      await expect(page).toHaveURL(/\/sign-in/)
      const { rows } = await database.query("SELECT password_hash FROM users WHERE email = $1", [email])
      expect(rows).toEqual([{ password_hash: null }])
    })

    test("the browsers that are signed in are listed, and one or all others are signed out", async ({
      page,
      signUp,
      request,
      database,
    }) => {
      const { id } = await signUp()
      const others = await Promise.all([1, 2, 3].map(() => startSession(database, id)))
      const opens = async ([cookie]: (typeof others)[number]) => {
        const headers = { cookie: `${cookie?.name}=${cookie?.value}` }
        return (await request.get("/account", { headers, maxRedirects: 0 })).status() === 200
      }
      await page.goto("/account/security")
      await expect(page.getByText("This browser", { exact: true })).toHaveCount(1)
      const buttons = page.getByRole("table").getByRole("button", { name: "Sign out", exact: true })
      await expect(buttons).toHaveCount(3)

      await buttons.first().click()
      await page.getByRole("button", { name: "Sign out browser" }).click()
      await expect(page.getByText("The browser is signed out.")).toBeVisible()
      await page.goto("/account/security")
      await expect(buttons).toHaveCount(2)
      expect((await Promise.all(others.map(opens))).filter(Boolean)).toHaveLength(2)

      await page.getByRole("button", { name: "Sign out all others" }).click()
      const title = "Sign out all other browsers?"
      await page
        .getByRole("dialog", { name: title })
        .or(page.getByRole("region", { name: title }))
        .getByRole("button", { name: "Sign out all others" })
        .click()
      await expect(page.getByText("All other browsers are signed out.")).toBeVisible()
      await page.goto("/account/security")
      await expect(buttons).toHaveCount(0)
      expect((await Promise.all(others.map(opens))).filter(Boolean)).toHaveLength(0)
    })

    test("recent activity lists sign-ins, also failed ones, and later changes of the account", {
      tag: "@long",
    }, async ({ page, database }) => {
      const { email } = await createAccount(database)
      await page.goto("/sign-in")
      await signIn(page, email, "not the password")
      await expect(page.getByRole("main").getByRole("alert")).toHaveText(incorrect)
      await signInWithOld(page, email)
      await page.goto("/account/security")
      const sentences = page.getByRole("table", { name: "Recent activity" }).getByRole("rowheader")
      await expect(sentences).toHaveText(["Signed in by password", "Sign-in by password failed: wrong password"])
      await changePassword(page, old, password)
      await expect(page.getByRole("heading", { name: "Your password was changed" })).toBeVisible()
      await page.goto("/account/security")
      await expect(sentences.first()).toHaveText("Password changed")
    })

    test("a connected provider is listed and can be disconnected", { tag: "@long" }, async ({
      page,
      signUp,
      database,
    }) => {
      const { email } = await signUp()
      await database.query(
        `INSERT INTO accounts (id, user_id, type, provider, provider_account_id)
         SELECT gen_random_uuid(), id, 'oauth', 'github', $2 FROM users WHERE email = $1`,
        [email, randomUUID()],
      )
      await page.goto("/account/security")
      const ways = page.getByRole("table", { name: "Sign-in methods" })
      await expect(ways.getByRole("row", { name: "GitHub" })).toContainText("Connected")
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await ways.getByRole("button", { name: "Disconnect" }).click()
      await page.getByRole("button", { name: "Disconnect GitHub" }).click()
      await expect(page.getByText("GitHub is disconnected.")).toBeVisible()
      await page.goto("/account/security")
      await expect(ways.getByRole("button", { name: "Disconnect" })).toHaveCount(0)
      await emailTo(email, "Subject: GitHub was disconnected from your account")
    })

    test("errors of a password change are shown at their field", { tag: "@long" }, async ({ page, signUp }) => {
      await signUp()
      await page.goto("/account/security")
      const [current, chosen] = [page.getByLabel("Current password"), page.getByLabel("New password")]
      await changePassword(page, old, common)
      await expect(chosen).toHaveAccessibleDescription(/on a list of common passwords/)
      if (javaScriptEnabled) await expect(chosen).toBeFocused()
      await changePassword(page, old, old)
      await expect(chosen).toHaveAccessibleDescription(/your current password/)
      await changePassword(page, "not the password", password)
      await expect(current).toHaveAccessibleDescription("This is not your current password.")
      if (!javaScriptEnabled) return
      await expect(current).toBeFocused()
      await expect(current).toHaveValue("not the password")
      await expect(chosen).toHaveValue(password)
    })

    test("a forgotten password is reset through the link in the email, which works once", async ({
      page,
      browser,
      database,
    }) => {
      const { id, email } = await createAccount(database)
      const other = await signedInElsewhere(browser, database, id)
      await page.goto("/sign-in")
      await page.getByRole("link", { name: "Forgot password?" }).click()
      await expect(page.getByRole("heading", { name: "Reset password" })).toBeVisible()
      await requestReset(page, email.toUpperCase())
      await expect(page.getByRole("heading", { name: "Check your email" })).toBeVisible()
      const token = resetTokenIn(await emailTo(email, "/reset-password/"))

      const link = `/reset-password/${token}`
      const response = await page.goto(link)
      expect(response?.headers()).toMatchObject({
        "referrer-policy": "same-origin",
        "cache-control": expect.stringContaining("no-store"),
      })
      await setPassword(page, common)
      await expect(page.getByLabel("New password")).toHaveAccessibleDescription(/on a list of common passwords/)
      await setPassword(page, password)
      const heading = page.getByRole("heading", { name: "Your password is set" })
      await expect(heading).toBeVisible()
      if (javaScriptEnabled) await expect(heading).toBeFocused()
      await page.getByRole("link", { name: "Go to your API keys" }).click()
      await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible()
      await other.goto("/api-keys")
      await expect(other).toHaveURL(/\/sign-in/)
      await signIn(other, email, password)
      await expect(other).toHaveURL(/\/account$/)
      await other.context().close()

      await page.goto(link)
      await expect(page.getByRole("heading", { name: "This link is invalid or has expired" })).toBeVisible()
      await emailTo(email, "Subject: Your password was changed")
      const logged = await database.query("SELECT * FROM emails WHERE template = 'password_reset'")
      const log = JSON.stringify(logged.rows)
      expect(log).toContain(email)
      expect(log).not.toContain(token)
    })

    test("when two tabs use one link, the second shows an error and sets no password", { tag: "@long" }, async ({
      page,
      context,
      database,
    }) => {
      const { email } = await createAccount(database)
      const link = await linkFor(page, email)
      const second = await context.newPage()
      await page.goto(link)
      await second.goto(link)
      await setPassword(page, password)
      await expect(page.getByRole("heading", { name: "Your password is set" })).toBeVisible()
      await setPassword(second, "another one of my own")
      await expect(second.getByRole("heading", { name: "This link is invalid or has expired" })).toBeVisible()
    })

    test("an unknown address gets the same page but no email", { tag: "@long" }, async ({ page, database }) => {
      const [{ email: known }, unknown] = [await createAccount(database), uniqueEmail()]
      const results: [number, string | null][] = []
      for (const email of [known, unknown]) {
        await page.goto("/reset-password")
        const posted = page.waitForResponse((response) => response.request().method() === "POST")
        await requestReset(page, email)
        await expect(page.getByRole("heading", { name: "Check your email" })).toBeVisible()
        results.push([(await posted).status(), await page.getByRole("main").textContent()])
      }
      expect(results[1]).toEqual(results[0])
      await emailTo(known, "/reset-password/")
      expect(await emailsTo(unknown)).toEqual([])
    })

    test("an invalid address is reported at its field and stays", { tag: "@long" }, async ({ page }) => {
      await page.goto("/reset-password")
      await requestReset(page, "ann@nowhere")
      await expect(page.getByLabel("Email")).toHaveAccessibleDescription(/like name@example\.com/)
      await expect(page.getByLabel("Email")).toHaveValue("ann@nowhere")
      if (javaScriptEnabled) await expect(page.getByLabel("Email")).toBeFocused()
    })
  })
}

test("of many signed-in browsers five are listed, and the others can be ended too", { tag: "@long" }, async ({
  page,
  database,
  signUp,
}) => {
  const { email } = await signUp()
  await database.query(
    `INSERT INTO sessions (id, user_id, via, address, browser, last_seen_at)
     SELECT gen_random_uuid(), id, 'password', '192.0.2.1', 'Firefox on Linux', now() - n * interval '1 hour'
     FROM users, generate_series(1, 6) n WHERE email = $1`,
    [email],
  )
  await page.goto("/account/security")
  await expect(page.getByRole("table", { name: "Signed-in browsers", exact: true }).getByRole("rowheader")).toHaveCount(
    5,
  )
  await page.getByText("Show 2 more").click()
  const others = page.getByRole("table", { name: "More signed-in browsers" })
  await others.getByRole("button", { name: "Sign out" }).first().click()
  await page.getByRole("button", { name: "Sign out browser" }).click()
  await expect(others.getByRole("rowheader")).toHaveCount(1)
})

test("a lost request and an ended session are reported, and the input stays", { tag: "@long" }, async ({
  page,
  signUp,
}) => {
  await signUp()
  await page.goto("/account/security")
  await hydrated(page)
  const alert = page.getByRole("main").getByRole("alert")
  await page.route("**/account/security", (route) => route.abort())
  await changePassword(page, old, password)
  await expect(alert).toContainText("There was no response.")
  await page.unroute("**/account/security")
  await page.context().clearCookies()
  await changePassword(page, old, password)
  await expect(alert).toContainText("You are signed out.")
  await expect(page.getByLabel("Current password")).toHaveValue(old)
})

test("an account without a password sets one by email", { tag: "@long" }, async ({ page, database, signUp }) => {
  const { email } = await signUp()
  await removePassword(database, email)
  await page.goto("/account/security")
  await expect(page.getByRole("button", { name: "Change password" })).toHaveCount(0)
  await page.getByRole("link", { name: "Set a password by email" }).click()
  await expect(page).toHaveURL(/\/reset-password$/)
  await expect(page.getByLabel("Email")).toHaveValue(email)
  await page.getByRole("button", { name: "Send reset link" }).click()
  await page.goto(`/reset-password/${resetTokenIn(await emailTo(email, "/reset-password/"))}`)
  await setPassword(page, password)
  await expect(page.getByRole("heading", { name: "Your password is set" })).toBeVisible()
  await page.goto("/account/security")
  await expect(page.getByRole("button", { name: "Change password" })).toBeVisible()
})

test("the confirmations of the password pages are accessible and fit narrow screens", { tag: "@long" }, async ({
  page,
  signUp,
  database,
}) => {
  const { email } = await createAccount(database)
  const link = await linkFor(page, email)
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.goto(link)
  await setPassword(page, common)
  await expect(page.getByText("on a list of common passwords")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await setPassword(page, password)
  await expect(page.getByRole("heading", { name: "Your password is set" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  const { email: own, id } = await signUp()
  await startSession(database, id)
  await page.goto("/account/security")
  await changePassword(page, "not the password", password)
  await expect(page.getByText("This is not your current password.")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await changePassword(page, old, password)
  await expect(page.getByRole("heading", { name: "Your password was changed" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await removePassword(database, own)
  await page.goto("/account/security")
  await expectAccessibleWithoutSidewaysScroll(page)
})

/** Makes an account that signs in through a provider. Triggers would end its session, so they are off. */
async function removePassword(database: pg.Client, email: string): Promise<void> {
  await database.query("BEGIN")
  await database.query("SET LOCAL session_replication_role = replica")
  await database.query("UPDATE users SET password_hash = NULL WHERE email = $1", [email])
  await database.query("COMMIT")
}

async function signedInElsewhere(browser: Browser, database: pg.Client, userId: string): Promise<Page> {
  const context = await browser.newContext()
  await context.addCookies(await startSession(database, userId))
  return context.newPage()
}

/** Requests a password reset and returns the path of the link in the email. */
async function linkFor(page: Page, email: string): Promise<string> {
  await page.goto("/reset-password")
  await requestReset(page, email)
  await expect(page.getByRole("heading", { name: "Check your email" })).toBeVisible()
  return `/reset-password/${resetTokenIn(await emailTo(email, "/reset-password/"))}`
}

async function signIn(page: Page, email: string, secret: string): Promise<void> {
  await page.goto("/sign-in")
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(secret)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** Signs in with the initial password. */
async function signInWithOld(page: Page, email: string): Promise<void> {
  await signIn(page, email, old)
  await expect(page).toHaveURL(/\/account$/)
}

async function requestReset(page: Page, email: string): Promise<void> {
  await page.getByLabel("Email").fill(email)
  await page.getByRole("button", { name: "Send reset link" }).click()
}

async function setPassword(page: Page, chosen: string): Promise<void> {
  await page.getByLabel("New password").fill(chosen)
  await page.getByRole("button", { name: "Set password" }).click()
}

async function changePassword(page: Page, current: string, chosen: string): Promise<void> {
  await page.getByLabel("Current password").fill(current)
  await page.getByLabel("New password").fill(chosen)
  await page.getByRole("button", { name: "Change password" }).click()
}
