import { expect, type Page } from "@playwright/test"
import { demoPassword } from "@/prisma/demo-accounts"
import { test, uniqueEmail } from "./fixtures"

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("an unknown address and a wrong password get the same words, and the address stays", async ({ page }) => {
      const words: (string | null)[] = []
      for (const email of ["member@example.com", uniqueEmail()]) {
        await page.goto("/sign-in")
        await signIn(page, email, "not the password")
        await expect(alertOf(page)).toBeVisible()
        words.push(await alertOf(page).textContent())
        await expect(page.getByLabel("Email")).toHaveValue(email)
        await expect(page.getByLabel("Password")).toHaveValue("")
        if (javaScriptEnabled) await expect(page.getByLabel("Password")).toBeFocused()
      }
      expect(words[0]).toBe("The e-mail address or the password is wrong.")
      expect(words[1]).toBe(words[0])
    })

    test("sign-up tells what is wrong at its field, and keeps the rest", async ({ page }) => {
      await page.goto("/sign-up")
      await page.getByLabel("Name").fill("Max Mustermann")
      await page.getByLabel("Email").fill("Member@Example.com")
      await page.getByLabel("Password").fill("short")
      await page.getByRole("button", { name: "Create account" }).click()
      await expect(page.getByLabel("Password")).toHaveAccessibleDescription(/at least 12 characters/)
      await expect(page.getByLabel("Name")).toHaveValue("Max Mustermann")
      await page.getByLabel("Password").fill("four words make sense")
      await page.getByRole("button", { name: "Create account" }).click()
      await expect(page.getByLabel("Email")).toHaveAccessibleDescription(/account with this address already/)
      await expect(page.getByLabel("Email")).toHaveValue("Member@Example.com")
      if (javaScriptEnabled) await expect(page.getByLabel("Email")).toBeFocused()
    })
  })
}

test("only the right password learns that an account is suspended", async ({ page, signUp, database, context }) => {
  const { email, password } = await signUp()
  await database.query("UPDATE users SET status = 'banned' WHERE email = $1", [email])
  await context.clearCookies()
  await page.goto("/sign-in")
  await signIn(page, email, "not the password")
  await expect(alertOf(page)).toHaveText("The e-mail address or the password is wrong.")
  await signIn(page, email, password)
  await expect(alertOf(page)).toContainText("suspended")
})

test("after sign-in the viewer is where they wanted to go, and never on another site", async ({ page }) => {
  await page.goto("/sign-in?callbackUrl=%2Fadmin%2Fapi-keys")
  await signIn(page, "finance@example.com", demoPassword)
  await expect(page).toHaveURL(/\/admin\/api-keys$/)
  await page.goto("/sign-in?callbackUrl=https%3A%2F%2Fevil.example")
  await expect(page).toHaveURL(/\/api-keys$/)
})

test("an error in the address becomes a sentence, and is never repeated", async ({ page }) => {
  await page.goto("/sign-in?error=OAuthAccountNotLinked")
  await expect(alertOf(page)).toContainText("account with this e-mail address already")
  await page.goto("/sign-in?error=Call%20555-0100%20now")
  await expect(alertOf(page)).toContainText("The sign-in did not work.")
  await expect(page.getByText("555-0100")).toHaveCount(0)
})

test("signing out ends the session, for a copy of its cookie too, and a GET does not", async ({
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

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** Next's own announcer is an alert too. */
function alertOf(page: Page) {
  return page.getByRole("main").getByRole("alert")
}
