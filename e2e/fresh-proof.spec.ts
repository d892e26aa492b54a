import { expect, type Locator, type Page } from "@playwright/test"
import { TOTP } from "otpauth"
import type pg from "pg"
import { proofCodeIn } from "@/tests/support/mail-server"
import { scripting } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { addAuthenticator } from "./authenticator"
import { createAccount, startSession, test, uniqueEmail, uniqueName } from "./fixtures"
import { choosePermission, openDialog, saved, shownKey } from "./key-page"
import { emailsTo, emailTo } from "./mail"
import { hydrated } from "./pages"

const password = "correct horse battery staple"

/** Makes the account's last proof eleven minutes old in every browser. */
async function growOld(database: pg.Client, email: string): Promise<void> {
  await database.query(
    `UPDATE sessions SET proved_at = proved_at - interval '11 minutes'
     WHERE user_id = (SELECT id FROM users WHERE email = $1)`,
    [email],
  )
}

/** Makes an account that signs in through a provider only. Triggers would end its session, so they are off. */
async function removePassword(database: pg.Client, email: string): Promise<void> {
  await database.query("BEGIN")
  await database.query("SET LOCAL session_replication_role = replica")
  await database.query("UPDATE users SET password_hash = NULL WHERE email = $1", [email])
  await database.query("COMMIT")
}

/** The part of a form that asks for the proof. */
function asking(where: Page | Locator): Locator {
  return where.getByRole("group", { name: "Confirm that it is you" })
}

/** A confirmation: a dialog or, without JavaScript, a part of the page. */
function confirmation(page: Page, name: string): Locator {
  return page.getByRole("dialog", { name }).or(page.getByRole("region", { name }))
}

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a form asks for the password in place, keeps the typed text and then acts", async ({
      page,
      database,
      signUp,
    }) => {
      const { email } = await signUp()
      const next = uniqueEmail()
      await growOld(database, email)
      await page.goto("/account/security")
      const form = page.getByRole("region", { name: "Email address" })
      const address = form.getByLabel("New email address")
      await address.fill("no address")
      await form.getByRole("button", { name: "Send confirmation link" }).click()
      await expect(address).toHaveAccessibleDescription(/like name@example\.com/)
      await expect(asking(page)).toHaveCount(0)

      await address.fill(next)
      await form.getByRole("button", { name: "Send confirmation link" }).click()
      const proof = asking(form).getByLabel("Your password")
      await expect(proof).toBeFocused()
      await expect(proof).toHaveAccessibleDescription(/you have not entered it in the last 10 minutes/)
      await expect(address).toHaveValue(next)
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await proof.fill("not the password")
      await proof.press("Enter")
      await expect(proof).toHaveAccessibleDescription(/This is not your password\./)
      await expect(proof).toBeFocused()
      await expect(address).toHaveValue(next)
      expect(await emailsTo(next)).toEqual([])
      await proof.fill(password)
      await form.getByRole("button", { name: "Send confirmation link" }).click()
      await expect(page.getByRole("heading", { name: "Check the new address" })).toBeVisible()
      await emailTo(next, "Subject: Confirm your new email address")
    })

    test("an action of the console asks for the password in its confirmation, and not again for ten minutes", async ({
      page,
      database,
      signUp,
    }) => {
      const { email } = await signUp({ role: "admin" })
      const { id: target } = await createAccount(database, { credits: 0 })
      await growOld(database, email)
      await page.goto(`/admin/users/${target}`)
      await page.getByRole("button", { name: "Grant credits" }).click()
      const dialog = confirmation(page, "Grant credits to this account")
      await dialog.getByLabel("Credits").fill("7")
      await dialog.getByLabel("Reason").fill("A gift")
      await dialog.getByRole("button", { name: "Grant credits" }).click()
      const proof = asking(dialog).getByLabel("Your password")
      await expect(proof).toBeFocused()
      await expect(dialog.getByLabel("Credits")).toHaveValue("7")
      await expect(dialog.getByLabel("Reason")).toHaveValue("A gift")
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await proof.fill(password)
      await proof.press("Enter")
      await expect(page.getByText("7 credits granted. The balance is 7 credits.")).toBeVisible()

      await page.goto(javaScriptEnabled ? `/admin/users/${target}` : `/admin/users/${target}?action=ban`)
      if (javaScriptEnabled) {
        await page.getByRole("button", { name: "Actions", exact: true }).click()
        await page.getByRole("button", { name: "Ban account" }).click()
      }
      await confirmation(page, "Ban this account?").getByRole("button", { name: "Ban account" }).click()
      await expect(page.getByText("The account is banned.")).toBeVisible()
      await expect(asking(page)).toHaveCount(0)
    })

    test("an admin key is created once the password is entered, in the form that was filled in", {
      tag: "@long",
    }, async ({ page, database, signUp }) => {
      const { email } = await signUp({ role: "analyst" })
      const name = uniqueName("Proved")
      await growOld(database, email)
      await page.goto("/admin/api-keys")
      if (!javaScriptEnabled) await page.getByRole("button", { name: "Create key" }).click()
      const form = javaScriptEnabled ? await openDialog(page) : page.getByRole("main")
      await form.getByLabel("Name").fill(name)
      await form.getByLabel("Expires").selectOption("Never")
      await choosePermission(form)
      await form.getByRole("button", { name: "Create key" }).last().click()
      const proof = asking(form).getByLabel("Your password")
      await expect(proof).toBeFocused()
      await expect(form.getByLabel("Name")).toHaveValue(name)
      await expect(form.getByLabel("Expires")).toHaveValue("never")
      await proof.fill(password)
      await proof.press("Enter")
      await shownKey(page)
      const { rows } = await database.query("SELECT expires_at FROM api_keys WHERE name = $1", [name])
      expect(rows).toEqual([{ expires_at: null }])
      if (javaScriptEnabled) await saved(page)
    })

    test("an account without a password enters a code from an email, and can send another", { tag: "@long" }, async ({
      page,
      database,
      signUp,
    }) => {
      const { id, email } = await signUp()
      await startSession(database, id)
      await removePassword(database, email)
      await growOld(database, email)
      await page.goto("/account/security")
      await page.getByRole("table").getByRole("button", { name: "Sign out", exact: true }).first().click()
      const dialog = confirmation(page, "Sign out this browser?")
      await dialog.getByRole("button", { name: "Sign out browser" }).click()
      const proof = asking(dialog).getByLabel("Code from the email")
      await expect(proof).toBeFocused()
      await expect(proof).toHaveAccessibleDescription(
        `This change needs it. We sent it to ${email}; it works for 10 minutes.`,
      )
      await emailTo(email, "Subject: Your confirmation code")
      await dialog.getByRole("button", { name: "Send another code" }).click()
      const code = proofCodeIn(await emailTo(email, "Subject: Your confirmation code", 2))
      await expect(proof).toBeFocused()
      await proof.fill(`${code.slice(0, 4)} ${code.slice(4)}`)
      await proof.press("Enter")
      await expect(page.getByText("The browser is signed out.")).toBeVisible()
      expect((await emailsTo(email)).filter((message) => message.includes("confirmation code"))).toHaveLength(2)
    })
  })
}

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("an account with an app enters its code, also to change the password", async ({ page, database, signUp }) => {
      const { email } = await signUp()
      const secret = await addApp(page)
      await growOld(database, email)
      await page.goto("/account/security")
      const form = page.getByRole("region", { name: "Password", exact: true })
      const passwords = async () => {
        await form.getByLabel("Current password").fill(password)
        await form.getByLabel("New password").fill("four words make sense")
      }
      await passwords()
      await form.getByRole("button", { name: "Change password" }).click()
      const proof = asking(form).getByLabel("Code", { exact: true })
      await expect(proof).toBeFocused()
      const again = form.getByText("Enter the passwords and codes of this form again, too.")
      if (javaScriptEnabled) {
        await expect(form.getByLabel("New password")).toHaveValue("four words make sense")
        await expect(again).toBeHidden()
        await expectAccessibleWithoutSidewaysScroll(page)
      } else {
        await expect(again).toBeVisible()
        await passwords()
      }
      await proof.fill(new TOTP({ secret }).generate({ timestamp: Date.now() + 30_000 }))
      await form.getByRole("button", { name: "Change password" }).click()
      await expect(page.getByRole("heading", { name: "Your password was changed" })).toBeVisible()
      await page.goto("/account/security")
      await expect(page.getByRole("heading", { name: "Change password" })).toBeVisible()
    })
  })
}

/** Adds an authenticator app and returns its secret. Uses the previous code, so that the next ones still work. */
async function addApp(page: Page): Promise<string> {
  await page.goto("/account/security/two-factor")
  await page.getByRole("button", { name: "Set up app" }).click()
  const secret = ((await page.getByText(/^([A-Z2-7]{4} ?){8}$/).textContent()) ?? "").replaceAll(" ", "")
  await page.getByLabel("Code from the app").fill(new TOTP({ secret }).generate({ timestamp: Date.now() - 30_000 }))
  await page.getByRole("button", { name: "Add authenticator app" }).click()
  await page.getByRole("button", { name: "I have saved these codes" }).click()
  return secret
}

test.describe("with a passkey", () => {
  test.use({ ownContext: true })

  test("the password is entered before the browser creates a passkey, and the passkey is the next proof", async ({
    page,
    database,
    signUp,
  }) => {
    const { email } = await signUp()
    const authenticator = await addAuthenticator(page)
    const form = page.getByRole("region", { name: "Passkey" })
    const add = async (name: string) => {
      await page.goto("/account/security/two-factor")
      await form.getByLabel("Name").fill(name)
      await form.getByRole("button", { name: "Add passkey" }).click()
    }
    await growOld(database, email)
    await add("Laptop")
    const proof = asking(form).getByLabel("Your password")
    await expect(proof).toBeFocused()
    expect(await authenticator.credentials()).toEqual([])
    await proof.fill("not the password")
    await proof.press("Enter")
    await expect(proof).toHaveAccessibleDescription(/This is not your password\./)
    await proof.fill(password)
    await proof.press("Enter")
    await expect(page.getByRole("heading", { name: "The passkey is added" })).toBeVisible()
    expect(await authenticator.credentials()).toHaveLength(1)
    await page.getByRole("button", { name: "I have saved these codes" }).click()
    await expect(page.getByRole("row", { name: "Laptop" })).toBeVisible()

    await growOld(database, email)
    await page.getByRole("row", { name: "Laptop" }).getByRole("button", { name: "Remove" }).click()
    const dialog = page.getByRole("dialog", { name: "Remove this passkey?" })
    await dialog.getByRole("button", { name: "Remove passkey" }).click()
    await expect(asking(dialog).getByLabel("Recovery code")).toBeFocused()
    await expectAccessibleWithoutSidewaysScroll(page)
    await asking(dialog).getByRole("button", { name: "Use a passkey" }).click()
    await expect(page.getByText("The passkey is removed.")).toBeVisible()
  })

  test("in each form or card with a heading, the heading comes before the request for a proof", {
    tag: "@long",
  }, async ({ page, database, signUp }) => {
    const { email } = await signUp({ role: "admin" })
    await addAuthenticator(page)
    const asks = async (path: string, submit: () => Promise<void>) => {
      await page.goto(path)
      await growOld(database, email)
      await submit()
      await expect(asking(page)).toBeVisible()
      const order = await page
        .locator("form", { has: asking(page) })
        .evaluate((form) =>
          [...(form.closest("section") ?? form).querySelectorAll("h2, fieldset")].map(({ tagName }) => tagName),
        )
      expect([path, ...order.slice(0, 2)]).toEqual([path, "H2", "FIELDSET"])
    }
    const press = (button: string) => () => page.getByRole("button", { name: button }).click()
    await asks("/account/settings", press("Export data"))
    await asks("/account/security", async () => {
      await page.getByLabel("New email address").fill(uniqueEmail())
      await press("Send confirmation link")()
    })
    await asks("/admin/api-keys", async () => {
      const form = await openDialog(page)
      await form.getByLabel("Name").fill(uniqueName("Proved"))
      await choosePermission(form)
      await form.getByRole("button", { name: "Create key" }).click()
    })
    await asks("/account/security/two-factor", press("Set up app"))
    await asks("/account/security/two-factor", press("Add passkey"))
    await page.getByLabel("Your password").fill(password)
    await page.keyboard.press("Enter")
    await press("I have saved these codes")()
    await asks("/account/security/two-factor", press("Create new codes"))
    await asks("/account/security", async () => {
      await page.getByLabel("Current password").fill(password)
      await page.getByLabel("New password").fill("another battery staple")
      await press("Change password")()
    })
  })

  test("an account with passkeys only and no recovery code left proves its identity with a passkey", {
    tag: "@long",
  }, async ({ page, database, signUp }) => {
    const { id, email } = await signUp({ role: "admin" })
    await addAuthenticator(page)
    await page.goto("/account/security/two-factor")
    await page.getByRole("button", { name: "Add passkey" }).click()
    await page.getByRole("button", { name: "I have saved these codes" }).click()
    await database.query("DELETE FROM recovery_codes WHERE user_id = $1", [id])
    await growOld(database, email)
    await page.goto(`/admin/users/${(await createAccount(database, { credits: 0 })).id}`)
    await page.getByRole("button", { name: "Grant credits" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Credits").fill("7")
    await dialog.getByLabel("Reason").fill("A gift")
    await dialog.getByRole("button", { name: "Grant credits" }).click()
    await expect(asking(dialog).getByText("Use your passkey.")).toBeFocused()
    await dialog.getByRole("button", { name: "Grant credits" }).click()
    await expect(asking(dialog).getByText("Use your passkey.")).toBeFocused()
    await expectAccessibleWithoutSidewaysScroll(page)
    await asking(dialog).getByRole("button", { name: "Use a passkey" }).click()
    await expect(page.getByText("7 credits granted. The balance is 7 credits.")).toBeVisible()
  })
})

test("of two tabs that ask for the password, the second acts without it once the first has it", {
  tag: "@long",
}, async ({ page, database, signUp }) => {
  const { email } = await signUp({ role: "admin" })
  const second = await page.context().newPage()
  await growOld(database, email)
  for (const tab of [page, second]) {
    await tab.goto(`/admin/users/${(await createAccount(database, { credits: 0 })).id}`)
    await tab.getByRole("button", { name: "Grant credits" }).click()
    const dialog = tab.getByRole("dialog")
    await dialog.getByLabel("Credits").fill("7")
    await dialog.getByLabel("Reason").fill("A gift")
    await dialog.getByRole("button", { name: "Grant credits" }).click()
    await expect(asking(dialog).getByLabel("Your password")).toBeFocused()
  }
  await asking(page).getByLabel("Your password").fill(password)
  await page.getByRole("dialog").getByRole("button", { name: "Grant credits" }).click()
  await expect(page.getByText("7 credits granted.")).toBeVisible()
  await second.getByRole("dialog").getByRole("button", { name: "Grant credits" }).click()
  await expect(second.getByText("7 credits granted.")).toBeVisible()
})

test("a lost request leaves the form as it is, with the field for the proof and the typed text", {
  tag: "@long",
}, async ({ page, database, signUp }) => {
  const { email } = await signUp()
  await growOld(database, email)
  await page.goto("/account/security")
  await hydrated(page)
  const form = page.getByRole("region", { name: "Email address" })
  const [address, send] = [
    form.getByLabel("New email address"),
    form.getByRole("button", { name: "Send confirmation link" }),
  ]
  await address.fill(uniqueEmail())
  await send.click()
  const proof = asking(form).getByLabel("Your password")
  await proof.fill(password)
  await page.route("**/account/security", (route) => route.abort())
  await send.click()
  await expect(form.getByRole("alert")).toContainText("There was no response.")
  await expect(proof).toHaveValue(password)
  await page.unroute("**/account/security")
  await send.click()
  await expect(page.getByRole("heading", { name: "Check the new address" })).toBeVisible()
})
