import { randomUUID } from "node:crypto"
import { type Browser, expect, type Page } from "@playwright/test"
import type pg from "pg"
import { hashPassword } from "@/lib/sign-in/password-hash"
import { resetTokenIn, verificationTokenIn } from "@/tests/support/mail-server"
import { expectAccessibleWithoutSidewaysScroll, wide } from "./accessibility"
import { incorrect, sessionCookies, test, uniqueEmail } from "./fixtures"
import { hiddenFields } from "./forms"
import { emailsTo, emailTo } from "./mail"

const old = "correct horse battery staple"
const password = "four words make sense"
const common = "Password1234"

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a new password signs out every other browser and keeps this one", async ({
      page,
      browser,
      baseURL,
      database,
    }) => {
      const email = await createAccount(database)
      const other = await signedInElsewhere(browser, baseURL, email)
      await signInWithOld(page, email)
      await page.getByRole("link", { name: "Security" }).click()
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
      // The first email reported the second browser.
      await emailTo(email, "Subject: Your password was changed")
    })

    test("the address changes by a link to the new one, and a link to the old one undoes it", async ({
      page,
      database,
    }) => {
      const [email, next] = [await createAccount(database), uniqueEmail()]
      await signInWithOld(page, email)
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
      browser,
      baseURL,
    }) => {
      const account = await signUp()
      const signIn = () => sessionCookies(String(baseURL), account.email, account.password)
      const others = await Promise.all([signIn(), signIn(), signIn()])
      const pages = await Promise.all(
        others.map(async (cookies) => {
          const context = await browser.newContext({ baseURL: String(baseURL) })
          await context.addCookies(cookies)
          return context.newPage()
        }),
      )
      const opens = async (other: Page | undefined) => {
        await other?.goto("/account")
        return other?.url().endsWith("/account")
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
      expect((await Promise.all(pages.map(opens))).filter(Boolean)).toHaveLength(2)

      await page.getByRole("button", { name: "Sign out all others" }).click()
      const title = "Sign out all other browsers?"
      await page
        .getByRole("alertdialog", { name: title })
        .or(page.getByRole("region", { name: title }))
        .getByRole("button", { name: "Sign out all others" })
        .click()
      await expect(page.getByText("All other browsers are signed out.")).toBeVisible()
      await page.goto("/account/security")
      await expect(buttons).toHaveCount(0)
      expect((await Promise.all(pages.map(opens))).filter(Boolean)).toHaveLength(0)
      await Promise.all(pages.map((other) => other.context().close()))
    })

    test("recent activity lists sign-ins, failed ones too, and what happened to the account since", async ({
      page,
      database,
    }) => {
      const email = await createAccount(database)
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

    test("a connected provider is listed and can be disconnected", async ({ page, signUp, database }) => {
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

    test("errors of a password change are shown at their field", async ({ page, database }) => {
      await signInWithOld(page, await createAccount(database))
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
      baseURL,
      database,
    }) => {
      const email = await createAccount(database)
      const other = await signedInElsewhere(browser, baseURL, email)
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

    test("when two tabs use one link, the second shows an error and sets no password", async ({
      page,
      context,
      database,
    }) => {
      const email = await createAccount(database)
      const link = await linkFor(page, email)
      const second = await context.newPage()
      await page.goto(link)
      await second.goto(link)
      await setPassword(page, password)
      await expect(page.getByRole("heading", { name: "Your password is set" })).toBeVisible()
      await setPassword(second, "another one of my own")
      await expect(second.getByRole("heading", { name: "This link is invalid or has expired" })).toBeVisible()
    })

    test("an unknown address gets the same page but no email", async ({ page, database }) => {
      const [known, unknown] = [await createAccount(database), uniqueEmail()]
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

    test("an invalid address is reported at its field and stays", async ({ page }) => {
      await page.goto("/reset-password")
      await requestReset(page, "ann@nowhere")
      await expect(page.getByLabel("Email")).toHaveAccessibleDescription(/like name@example\.com/)
      await expect(page.getByLabel("Email")).toHaveValue("ann@nowhere")
      if (javaScriptEnabled) await expect(page.getByLabel("Email")).toBeFocused()
    })
  })
}

test("of many signed-in browsers five are listed, and the others can be ended too", async ({ page, database }) => {
  const email = await createAccount(database)
  await signInWithOld(page, email)
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

test("a lost request and an ended session are reported, and the input stays", async ({ page, database }) => {
  await signInWithOld(page, await createAccount(database))
  // Before its scripts have loaded, a page submits forms natively, and the browser reports a lost request.
  await page.goto("/account/security", { waitUntil: "networkidle" })
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

test("an account without a password sets one by email", async ({ page, database }) => {
  const email = await createAccount(database)
  await signInWithOld(page, email)
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

for (const origin of [undefined, "https://evil.example", "null"]) {
  test(`a form with the origin ${origin} has no effect`, async ({ page, database }) => {
    const email = await createAccount(database)
    const link = await linkFor(page, email)
    const headers: Record<string, string> = origin ? { Origin: origin } : {}
    for (const [path, fields] of [
      [link, { password }],
      ["/reset-password", { email }],
    ] as const) {
      await page.goto(path)
      await page.request.post(path, { multipart: { ...(await hiddenFields(page)), ...fields }, headers })
    }
    await signInWithOld(page, email)
    await page.goto("/account/security")
    const form = await hiddenFields(page, page.getByRole("region", { name: "Password" }))
    const multipart = { ...form, current: old, password }
    await page.request.post("/account/security", { multipart, headers })
    const { rows } = await database.query("SELECT session_version FROM users WHERE email = $1", [email])
    expect(rows).toEqual([{ session_version: 0 }])
    // Besides the report of the sign-in above, only the email with the link was sent.
    const emails = (await emailsTo(email)).filter(
      (message) => !message.includes("Subject: New sign-in to your account"),
    )
    expect(emails).toEqual([expect.stringContaining("/reset-password/")])
    await page.goto(link)
    await expect(page.getByRole("button", { name: "Set password" })).toBeVisible()
  })
}

test("the password pages are accessible and fit narrow screens", async ({ browser, baseURL, database }) => {
  const context = await browser.newContext({ baseURL: String(baseURL), viewport: wide })
  const page = await context.newPage()
  const email = await createAccount(database)
  const titles: string[] = []
  const check = async () => {
    await expectAccessibleWithoutSidewaysScroll(page)
    titles.push(await page.title())
  }
  await page.goto("/sign-in")
  await check()
  await page.goto("/reset-password")
  await check()
  const link = await linkFor(page, email)
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.goto(link)
  await setPassword(page, common)
  await expect(page.getByText("on a list of common passwords")).toBeVisible()
  await check()
  await setPassword(page, password)
  await expect(page.getByRole("heading", { name: "Your password is set" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.goto(link)
  await expect(page.getByRole("heading", { name: "This link is invalid or has expired" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  for (const _other of [1, 2]) await sessionCookies(String(baseURL), email, password)
  await page.goto("/account/security")
  await check()
  await changePassword(page, "not the password", password)
  await expect(page.getByText("This is not your current password.")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await changePassword(page, password, old)
  await expect(page.getByRole("heading", { name: "Your password was changed" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await removePassword(database, email)
  await page.goto("/account/security")
  await expectAccessibleWithoutSidewaysScroll(page)
  expect(new Set(titles).size).toBe(4)
  await context.close()
})

/** As if the account had signed in through a provider: without triggers, its session goes on. */
async function removePassword(database: pg.Client, email: string): Promise<void> {
  await database.query("BEGIN")
  await database.query("SET LOCAL session_replication_role = replica")
  await database.query("UPDATE users SET password_hash = NULL WHERE email = $1", [email])
  await database.query("COMMIT")
}

/** Creates an account directly in the database, because sign-ups per IP address are limited. */
async function createAccount(database: pg.Client): Promise<string> {
  const email = uniqueEmail()
  await database.query(
    "INSERT INTO users (id, email, name, password_hash, updated_at) VALUES ($1, $2, $3, $4, now())",
    [randomUUID(), email, "Nova Newcomer", await hashPassword(old, "this test")],
  )
  return email
}

async function signedInElsewhere(browser: Browser, baseURL: string | undefined, email: string): Promise<Page> {
  const context = await browser.newContext({ baseURL: String(baseURL) })
  const other = await context.newPage()
  await signInWithOld(other, email)
  return other
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
