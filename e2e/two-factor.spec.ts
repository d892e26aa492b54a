import { type BrowserContext, expect, type Page } from "@playwright/test"
import { TOTP } from "otpauth"
import { scripting } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { addAuthenticator } from "./authenticator"
import { type Account, test } from "./fixtures"
import { emailTo } from "./mail"
import { hydrated } from "./pages"

const setup = "/account/security/two-factor"

test.use({ ownContext: true })

const offerOn = (page: Page) => page.getByRole("region", { name: "Passkey" })

async function addPasskey(page: Page, name: string): Promise<string[]> {
  await page.goto(setup)
  await page.getByLabel("Name").fill(name)
  await page.getByRole("button", { name: "Add passkey" }).click()
  await expect(page.getByRole("heading", { name: "The passkey is added" })).toBeVisible()
  const codes = page.getByRole("textbox", { name: "Recovery codes" })
  return (await codes.count()) > 0 ? saveCodes(page) : []
}

/** Reads the recovery codes and confirms that they are saved. */
async function saveCodes(page: Page): Promise<string[]> {
  const codes = (await page.getByRole("textbox", { name: "Recovery codes" }).inputValue()).split("\n")
  expect(new Set(codes).size).toBe(10)
  await page.getByRole("button", { name: "I have saved these codes" }).click()
  await expect(page.getByRole("table", { name: "Your second factors" })).toBeVisible()
  return codes
}

async function signOut(context: BrowserContext): Promise<void> {
  await context.clearCookies()
}

async function enterPassword(page: Page, { email, password }: Account): Promise<void> {
  await page.goto("/sign-in")
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await expect(page.getByRole("heading", { name: "Confirm your sign-in" })).toBeVisible()
}

async function confirmWith(page: Page, code: string): Promise<void> {
  await page.getByRole("textbox", { name: /code/i }).fill(code)
  await page.getByRole("button", { name: "Confirm" }).click()
}

test("Home offers a passkey once: not after a refusal, and only where the browser supports it", async ({
  page,
  context,
  signUp,
}) => {
  await signUp()
  await page.goto("/account")
  await expect(offerOn(page).getByRole("link", { name: "Add a passkey" })).toHaveAttribute("href", setup)
  await offerOn(page).getByRole("button", { name: "No, thanks" }).click()
  await expect(offerOn(page)).toHaveCount(0)
  await expect(page.getByRole("main")).toBeFocused()
  await page.reload()
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible()
  await expect(offerOn(page)).toHaveCount(0)

  await context.clearCookies({ name: /passkey-offer$/ })
  await page.reload()
  await expect(offerOn(page)).toBeVisible()
  await page.addInitScript("delete window.PublicKeyCredential")
  await page.reload()
  await hydrated(page)
  await expect(offerOn(page)).toHaveCount(0)
})

test("a passkey is added, signs in alone, confirms a password, and does neither once it is removed", async ({
  page,
  context,
  signUp,
}) => {
  const account = await signUp()
  const authenticator = await addAuthenticator(page)
  await page.goto("/account/security")
  await page.getByRole("link", { name: "Set up two-factor authentication" }).click()
  await addPasskey(page, "My laptop")
  await page.goto("/account")
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible()
  await expect(offerOn(page)).toHaveCount(0)
  await page.goto(setup)
  await emailTo(account.email, "Subject: A passkey was added to your account")
  await expect(page.getByRole("row", { name: "My laptop" })).toContainText("Never")
  expect(await authenticator.credentials()).toMatchObject([{ rpId: "localhost", isResidentCredential: true }])

  await signOut(context)
  await page.goto("/sign-in?callbackUrl=/account/credits")
  await page.getByRole("button", { name: "Continue with a passkey" }).click()
  await expect(page).toHaveURL("/account/credits")

  await signOut(context)
  await enterPassword(page, account)
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("button", { name: "Use a passkey" }).click()
  await expect(page).toHaveURL(/\/account$/)
  await emailTo(account.email, "Signed in with: password and passkey")

  await page.goto("/account/security")
  const sentences = page.getByRole("table", { name: "Recent activity" }).getByRole("rowheader")
  await expect(sentences.first()).toHaveText("Signed in by password and passkey")
  await expect(page.getByRole("row", { name: "This browser" })).toContainText("by password and passkey")
  await page.goto(setup)
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("row", { name: "My laptop" }).getByRole("button", { name: "Remove" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Remove passkey" }).click()
  await expect(page.getByText("The passkey is removed.")).toBeVisible()
  await emailTo(account.email, "Subject: A passkey was removed from your account")

  await signOut(context)
  await page.goto("/sign-in")
  await page.getByRole("button", { name: "Continue with a passkey" }).click()
  await expect(page.getByRole("main").getByRole("alert").first()).toContainText("This passkey cannot sign you in.")
})

test("a second passkey is in the list as soon as it is added", { tag: "@long" }, async ({ page, signUp }) => {
  await signUp()
  const authenticator = await addAuthenticator(page)
  await addPasskey(page, "First")
  // Browsers do not create a second passkey on the same device.
  await authenticator.clear()
  await page.getByLabel("Name").fill("Second")
  await page.getByRole("button", { name: "Add passkey" }).click()
  await expect(page.getByRole("heading", { name: "The passkey is added" })).toBeVisible()
  await expect(page.getByRole("row", { name: "Second" })).toBeVisible()
})

test("a copy of a passkey whose counter stayed behind is refused, and the original still signs in", async ({
  page,
  context,
  signUp,
}) => {
  await signUp()
  const authenticator = await addAuthenticator(page)
  await addPasskey(page, "Original")
  const [original] = await authenticator.credentials()
  if (!original) throw new Error("The authenticator has no passkey.")
  const withPasskey = async () => {
    await signOut(context)
    await page.goto("/sign-in")
    await page.getByRole("button", { name: "Continue with a passkey" }).click()
  }
  for (let times = 0; times < 2; times++) {
    await withPasskey()
    await expect(page).toHaveURL(/\/account$/)
  }
  const [used] = await authenticator.credentials()
  await authenticator.clear()
  await authenticator.add({ ...original, signCount: original.signCount })
  await withPasskey()
  await expect(page.getByRole("main").getByRole("alert").first()).toContainText(
    "This passkey was refused, because its counter went back",
  )

  await authenticator.clear()
  await authenticator.add({ ...original, signCount: (used?.signCount ?? 0) + 1 })
  await withPasskey()
  await expect(page).toHaveURL(/\/account$/)
  await page.goto("/account/security")
  await expect(page.getByText("Passkey refused: it may have been copied")).toBeVisible()
})

test("a passkey is offered at the product's own host only, and needs its user to be verified", async ({
  page,
  context,
  signUp,
  baseURL,
}) => {
  await signUp()
  const authenticator = await addAuthenticator(page)
  await addPasskey(page, "Here")
  await signOut(context)
  await page.goto(`${String(baseURL).replace("localhost", "127.0.0.1")}/sign-in`)
  await expect(page.getByText("Passkeys work at localhost only.")).toBeVisible()
  await expect(page.getByRole("button", { name: "Continue with a passkey" })).toBeDisabled()
  await page.goto("/sign-in")
  await authenticator.verifies(false)
  await page.getByRole("button", { name: "Continue with a passkey" }).click()
  await expect(page.getByText("No passkey was used:")).toBeVisible()
  await expect(page).toHaveURL(/\/sign-in$/)
})

test("leaving the recovery codes asks first, and they are gone afterwards", { tag: "@long" }, async ({
  page,
  signUp,
}) => {
  await signUp()
  await addAuthenticator(page)
  await page.goto(setup)
  await page.getByRole("button", { name: "Add passkey" }).click()
  const field = page.getByRole("textbox", { name: "Recovery codes" })
  await expect(field).toBeFocused()
  await expectAccessibleWithoutSidewaysScroll(page)
  const downloaded = page.waitForEvent("download")
  await page.getByRole("button", { name: "Download codes" }).click()
  const file = await (await downloaded).createReadStream()
  expect(Buffer.concat(await file.toArray()).toString()).toBe(`${await field.inputValue()}\n`)
  const code = (await field.inputValue()).split("\n")[0] ?? ""
  const asked = page.waitForEvent("dialog").then(async (dialog) => {
    expect(dialog.message()).toContain("The codes are shown only once.")
    await dialog.dismiss()
  })
  await page.getByRole("link", { name: "API keys", exact: true }).click()
  await asked
  await expect(field).toBeVisible()
  page.on("dialog", (dialog) => dialog.accept())
  await page.getByRole("link", { name: "API keys", exact: true }).click()
  await expect(page).toHaveURL(/\/api-keys$/)
  await page.goBack()
  await expect(page.getByText(code)).toHaveCount(0)
})

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("an authenticator app is added, confirms a sign-in, and recovery codes work in its place", async ({
      page,
      context,
      signUp,
    }) => {
      const account = await signUp()
      await page.goto(setup)
      await page.getByRole("button", { name: "Set up app" }).click()
      await expect(page.getByRole("img", { name: "QR code for the authenticator app" })).toBeVisible()
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      const secret = ((await page.getByText(/^([A-Z2-7]{4} ?){8}$/).textContent()) ?? "").replaceAll(" ", "")
      const totp = new TOTP({ secret })
      const code = page.getByLabel("Code from the app")
      if (javaScriptEnabled) await expect(code).toBeFocused()
      const add = page.getByRole("button", { name: "Add authenticator app" })
      await code.fill(totp.generate({ timestamp: Date.now() - 600_000 }))
      await add.click()
      await expect(code).toHaveAccessibleDescription(/^This is not the code that the app shows now\./)
      if (javaScriptEnabled) await expect(code).toBeFocused()
      await code.fill(totp.generate())
      await add.click()
      await expect(page.getByRole("heading", { name: "The authenticator app is added" })).toBeVisible()
      const [first = "", second = ""] = await saveCodes(page)
      await expect(page.getByRole("row", { name: "Authenticator app" })).toBeVisible()
      await emailTo(account.email, "Subject: An authenticator app was added to your account")

      await signOut(context)
      await enterPassword(page, account)
      await confirmWith(page, "000000")
      await expect(page.getByRole("textbox", { name: "Code" })).toHaveAccessibleDescription(/This code is wrong/)
      await confirmWith(page, totp.generate({ timestamp: Date.now() + 30_000 }))
      await expect(page).toHaveURL(/\/account$/)

      await signOut(context)
      await enterPassword(page, account)
      await confirmWith(page, first)
      await expect(page.getByText("You signed in with a recovery code, and have 9 codes left.")).toBeVisible()
      await emailTo(account.email, "9 are left")
      await signOut(context)
      await enterPassword(page, account)
      await confirmWith(page, first)
      await expect(page.getByRole("textbox", { name: "Code" })).toHaveAccessibleDescription(/was used before/)
      await confirmWith(page, second.toUpperCase())
      await expect(page).toHaveURL(/\/account\?recovery=used$/)

      await page.goto(setup)
      await page.getByRole("button", { name: "Create new codes" }).click()
      await expect(page.getByRole("heading", { name: "New recovery codes" })).toBeVisible()
      await saveCodes(page)
      await expect(page.getByText("You have 10 codes left.")).toBeVisible()

      await page.getByRole("row", { name: "Authenticator app" }).getByRole("button", { name: "Remove" }).click()
      await page.getByRole("button", { name: "Remove app" }).click()
      await expect(page.getByText("The authenticator app is removed.")).toBeVisible()
      await page.goto("/account/security")
      await expect(page.getByRole("region", { name: "Two-factor authentication" })).toContainText("Off")
    })
  })
}

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("passkeys say that they need it", async ({ page, signUp }) => {
    // A search for its text ignores this element.
    const noScript = page.locator("noscript p")
    await page.goto("/sign-in")
    await expect(noScript).toHaveText("Passkeys need JavaScript.")
    await expect(noScript).toBeVisible()
    await signUp()
    await page.goto(setup)
    await expect(noScript).toHaveText("Passkeys need JavaScript.")
    await expect(noScript).toBeVisible()
    await expect(page.getByRole("button", { name: "Add passkey" })).toBeDisabled()
  })
})
