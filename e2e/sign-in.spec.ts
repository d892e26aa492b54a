import { expect, type Page } from "@playwright/test"
import { demoPassword } from "@/lib/process/demo-accounts"
import { verificationTokenIn } from "@/tests/support/mail-server"
import { isPresent } from "@/tests/support/pages"
import { scripting } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { incorrect, test, uniqueEmail } from "./fixtures"
import { emailTo } from "./mail"
import { hydrated } from "./pages"

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("an unknown address and a wrong password get the same message, and the address stays", async ({ page }) => {
      const messages: (string | null)[] = []
      for (const email of ["member@example.com", uniqueEmail()]) {
        await page.goto("/sign-in")
        await signIn(page, email, "not the password")
        await expect(alertOf(page)).toBeVisible()
        messages.push(await alertOf(page).textContent())
        await expect(page.getByLabel("Email")).toHaveValue(email)
        if (!javaScriptEnabled) await expect(page.getByLabel("Password")).toHaveValue("")
        if (javaScriptEnabled) await expect(page.getByLabel("Password")).toBeFocused()
      }
      expect(messages[0]).toBe(incorrect)
      expect(messages[1]).toBe(messages[0])
    })
  })
}

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("sign-up shows errors at their field and keeps the other input", { tag: "@long" }, async ({ page }) => {
      await page.goto("/sign-up")
      await page.getByLabel("Name").fill("Max Mustermann")
      await page.getByLabel("Email").fill("Member@Example.com")
      await page.getByLabel("Password").fill("short")
      await page.getByRole("button", { name: "Create account" }).click()
      await expect(page.getByLabel("Password")).toHaveAccessibleDescription(/at least 12 characters/)
      await expect(page.getByLabel("Name")).toHaveValue("Max Mustermann")
      await expect(page.getByLabel("Email")).toHaveValue("Member@Example.com")
      if (javaScriptEnabled) await expect(page.getByLabel("Password")).toBeFocused()
    })

    test("a missing value is reported at its field, not by the browser", { tag: "@long" }, async ({ page }) => {
      const missing = [
        {
          path: "/sign-in",
          button: "Sign in",
          fields: { Email: /^Enter your email/, Password: /^Enter your password/ },
        },
        {
          path: "/sign-up",
          button: "Create account",
          fields: { Name: /must not be empty/, Email: /like name@example\.com/, Password: /at least 12 characters/ },
        },
        { path: "/waitlist", button: "Join", fields: { Email: /like name@example\.com/ } },
      ].filter(({ path }) => isPresent(path))
      for (const { path, button, fields } of missing) {
        await page.goto(path)
        await page.getByRole("main").getByRole("button", { name: button }).click()
        for (const [label, error] of Object.entries(fields)) {
          await expect(page.getByLabel(label)).toHaveAccessibleDescription(error)
        }
        if (javaScriptEnabled) await expect(page.getByLabel(Object.keys(fields)[0] ?? "")).toBeFocused()
      }
    })

    test("in another browser the link of a sign-up asks for its password", async ({ page, browser, baseURL }) => {
      const [email, password] = [uniqueEmail(), "four words make sense"]
      await page.goto("/sign-up")
      await expect(page.getByLabel("Password")).toHaveAttribute("type", "password")
      await expect(page.getByLabel("Password")).toHaveAttribute("autocomplete", "new-password")
      await page.getByLabel("Name").fill("Max Mustermann")
      await page.getByLabel("Email").fill(email)
      await page.getByLabel("Password").fill(password)
      await page.getByRole("button", { name: "Create account" }).click()
      await expect(page.getByText(`We sent an email to ${email}.`)).toBeVisible()
      const other = await browser.newContext({ baseURL: String(baseURL), javaScriptEnabled })
      const opened = await other.newPage()
      await opened.goto(`/verify/${verificationTokenIn(await emailTo(email, "/verify/"))}`)
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(opened)
      await opened.getByLabel("Password").fill("not the password")
      await opened.getByRole("button", { name: "Confirm address" }).click()
      await expect(opened.getByLabel("Password")).toHaveAccessibleDescription(
        /not the password that you chose at sign-up/,
      )
      await opened.getByLabel("Password").fill(password)
      await opened.getByRole("button", { name: "Confirm address" }).click()
      await expect(opened).toHaveURL(/\/api-keys\?new$/)
      await opened.goto(`/verify/${"x".repeat(43)}`)
      await expect(opened.getByRole("heading", { name: "This link is invalid or has expired" })).toBeVisible()
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(opened)
      await other.close()
    })
  })
}

test("a typed password is shown on request, and hidden again when the form is submitted", async ({ page }) => {
  await page.goto("/sign-in")
  const password = page.getByLabel("Password")
  await expect(password).toHaveAttribute("type", "password")
  const button = (name: string) => page.getByRole("button", { name, exact: true })
  await password.fill("not the password")
  await password.press("Tab")
  await expect(button("Show")).toBeFocused()
  await expect(button("Show")).toHaveAccessibleDescription("Show password")
  await page.keyboard.press("Enter")
  await expect(password).toHaveAttribute("type", "text")
  await expect(password).toHaveValue("not the password")
  await button("Hide").click()
  await expect(password).toHaveAttribute("type", "password")
  await button("Show").click()
  await signIn(page, "member@example.com", "not the password")
  await expect(alertOf(page)).toHaveText(incorrect)
  await expect(password).toHaveAttribute("type", "password")
})

test("password managers and pastes fill in the fields of a sign-in", async ({ page }) => {
  await page.goto("/sign-in")
  await expect(page.getByLabel("Email")).toHaveAttribute("autocomplete", "username")
  const password = page.getByLabel("Password")
  await expect(password).toHaveAttribute("autocomplete", "current-password")
  const pastes = (field: HTMLElement) => field.dispatchEvent(new Event("paste", { bubbles: true, cancelable: true }))
  expect(await password.evaluate(pastes)).toBe(true)
})

test("without JavaScript, a password has no button that shows it", { tag: "@long" }, async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: String(baseURL), javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto("/sign-in")
  await expect(page.getByLabel("Password")).toBeVisible()
  await expect(page.getByRole("button", { name: "Show" })).toHaveCount(0)
  await context.close()
})

test("sign-in reveals that an account is banned only with the correct password", async ({
  page,
  signUp,
  database,
  context,
}) => {
  const { email, password } = await signUp()
  await database.query("UPDATE users SET status = 'banned' WHERE email = $1", [email])
  await context.clearCookies()
  await page.goto("/sign-in")
  await signIn(page, email, "not the password")
  await expect(alertOf(page)).toHaveText(incorrect)
  await signIn(page, email, password)
  await expect(alertOf(page)).toContainText("banned")
})

test("sign-in redirects to the requested page and never to another site", async ({ page }) => {
  await page.goto("/sign-in?callbackUrl=%2Fadmin%2Fapi-keys")
  await signIn(page, "finance@example.com", demoPassword)
  await expect(page).toHaveURL(/\/admin\/api-keys$/)
  await page.goto("/sign-in?callbackUrl=https%3A%2F%2Fevil.example")
  await expect(page).toHaveURL(/\/admin$/)
})

test("an error code in the URL is shown as a fixed message and never echoed", async ({ page }) => {
  await page.goto("/sign-in?error=OAuthAccountNotLinked")
  await expect(alertOf(page)).toContainText("account with this email address already")
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.goto("/sign-in?error=Call%20555-0100%20now")
  await expect(alertOf(page)).toContainText("Sign-in failed.")
  await expect(page.getByText("555-0100")).toHaveCount(0)
})

test("signing out ends the session, also for a copy of its cookie, and a GET request does not sign out", async ({
  page,
  signUp,
  request,
}) => {
  const { cookies } = await signUp()
  const withCopy = async () => {
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ")
    return (await request.get("/api-keys", { headers: { cookie }, maxRedirects: 0 })).status()
  }
  await page.goto("/api-keys")
  await page.getByRole("button", { name: /^Account menu/ }).click()
  await expect(page.getByText("Role: member")).toBeVisible()
  await page.keyboard.press("Escape")
  await expect(page.getByRole("button", { name: "Sign out" })).toBeHidden()
  expect(await withCopy()).toBe(200)
  for (const path of ["/api/auth/signout", "/sign-out"]) expect((await page.request.get(path)).status()).toBe(404)
  expect(await withCopy()).toBe(200)
  await page.getByRole("button", { name: /^Account menu/ }).click()
  await page.getByRole("button", { name: "Sign out" }).click()
  await expect(page).toHaveURL(/\/sign-in$/)
  await page.goto("/api-keys")
  await expect(page).toHaveURL(/\/sign-in/)
  expect(await withCopy()).toBe(307)
})

test("a page opened in one account does nothing in another one that its browser has signed in to since", async ({
  page,
  database,
  signUp,
}) => {
  await signUp()
  await page.goto("/account/settings")
  const { id } = await signUp({ name: "Ann" })
  await page.getByLabel("Name").fill("Somebody else")
  await page.getByRole("button", { name: "Change name" }).click()
  await expect(page.getByRole("main").getByRole("alert")).toContainText("This page belongs to another account")
  expect((await database.query("SELECT name FROM users WHERE id = $1", [id])).rows).toEqual([{ name: "Ann" }])
})

test("a page opened in one account is loaded again when it leads to pages of another one", async ({ page, signUp }) => {
  const { email } = await signUp()
  await page.goto("/account")
  await expect(page.getByRole("button", { name: `Account menu for ${email}` })).toBeVisible()
  const other = await signUp()
  const tab = await page.context().newPage()
  await tab.goto("/account")
  await expect(tab.getByRole("button", { name: `Account menu for ${other.email}` })).toBeVisible()
  await hydrated(tab)
  await page.getByRole("link", { name: "Credits", exact: true }).first().click()
  await expect(page).toHaveURL("/account/credits")
  await expect(page.getByRole("button", { name: `Account menu for ${other.email}` })).toBeVisible()
})

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** The alert in the main content: Next's route announcer also has the role alert. */
function alertOf(page: Page) {
  return page.getByRole("main").getByRole("alert")
}
