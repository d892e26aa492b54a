import { randomUUID } from "node:crypto"
import { type APIRequestContext, type Browser, expect, type Locator, type Page } from "@playwright/test"
import type { Client } from "pg"
import sharp from "sharp"
import { accountActions } from "@/app/admin/users/[id]/account-actions"
import type { Role } from "@/lib/permissions"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { kinds } from "@/lib/surfaces"
import { isPresent } from "@/tests/support/pages"
import { sampled, scripting } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll, wide } from "./accessibility"
import { createAccount, startSession, test, uniqueName } from "./fixtures"
import { createKey, row, saved } from "./key-page"
import { emailTo } from "./mail"

type Target = { id: string; name: string; email: string; page: string }

/** An account that no test signs in to. */
async function newTarget(database: Client, credits = 0): Promise<Target> {
  const name = uniqueName("Tara Target")
  const { id, email } = await createAccount(database, { name, credits })
  return { id, name, email, page: `/admin/users/${id}` }
}

async function insertKey(database: Client, { id }: Target, name: string): Promise<void> {
  await database.query(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
     VALUES (gen_random_uuid(), $1, 'user', $2, $3, sha256(gen_random_uuid()::text::bytea), gen_random_uuid())`,
    [id, name, `${kinds.user.prefix}Ab3d`],
  )
}

async function targetOf(database: Client, email: string): Promise<Target> {
  const { rows } = await database.query("SELECT id, name FROM users WHERE email = $1", [email])
  return { ...rows[0], email, page: `/admin/users/${rows[0].id}` }
}

/** A page of another browser, which is signed in as the demo account of a role. */
async function anotherBrowser(browser: Browser, database: Client, role: Role): Promise<Page> {
  const context = await browser.newContext()
  await context.addCookies(await startSession(database, (await targetOf(database, `${role}@example.com`)).id))
  return context.newPage()
}

/** The button of an action, which is in the menu unless it is the most frequent one. */
async function buttonOf(page: Page, action: string): Promise<Locator> {
  if (action !== "Grant credits") await page.getByRole("button", { name: "Actions", exact: true }).click()
  return page.getByRole("button", { name: action })
}

async function openAction(page: Page, action: string): Promise<Locator> {
  await (await buttonOf(page, action)).click()
  const dialog = page.getByRole("dialog")
  await expect(dialog).toBeVisible()
  return dialog
}

/** Also not in the menu. */
async function expectNoAction(page: Page, action: string): Promise<void> {
  await expect(page.getByRole("button", { name: action, includeHidden: true })).toHaveCount(0)
}

async function expectNoActions(page: Page): Promise<void> {
  for (const { label } of Object.values(accountActions)) await expectNoAction(page, label)
  await expect(page.getByRole("button", { name: "Actions", exact: true })).toHaveCount(0)
}

function statusOf(page: Page): Locator {
  return page.getByRole("main").getByRole("status").filter({ hasText: /./ })
}

/** The rows of an admin API list, as an admin reads them. */
async function rows(request: APIRequestContext, path: string): Promise<Record<string, unknown>[]> {
  const [admin] = demoAccounts.filter(({ role }) => role === "admin")
  if (!admin) throw new Error("There is no demo account with the role admin.")
  const response = await request.get(path, { headers: { Authorization: `Bearer ${demoKey(admin)}` } })
  expect(response.status()).toBe(200)
  return (await response.json()).data
}

async function audited(database: Client, { id }: Target): Promise<unknown[]> {
  const sql = `SELECT action, details FROM audit_entries WHERE target_id = $1 AND action NOT LIKE 'user.signed%'
               ORDER BY created_at, id`
  const entries = await database.query(sql, [id])
  return entries.rows.map(({ action, details }) => [action, details])
}

test("a manager removes the picture of an account, which then has initials", { tag: "@long" }, async ({
  page,
  database,
  signInAs,
}) => {
  const target = await newTarget(database)
  const image = await sharp({ create: { width: 128, height: 128, channels: 3, background: "red" } })
    .webp()
    .toBuffer()
  await database.query("INSERT INTO user_pictures VALUES ($1, $2, $3, now())", [target.id, randomUUID(), image])
  await signInAs("admin")
  await page.goto(target.page)
  const picture = page.getByRole("main").locator("img")
  await expect(picture).toHaveJSProperty("naturalWidth", 128)
  const dialog = await openAction(page, accountActions.removePicture.label)
  await dialog.getByRole("button", { name: accountActions.removePicture.label }).click()
  await expect(page.getByText("The picture is removed.")).toBeVisible()
  await expect(picture).toHaveCount(0)
  await page.getByRole("button", { name: "Actions", exact: true }).click()
  await expect(page.getByRole("button", { name: "Change role" })).toBeVisible()
  await expect(page.getByRole("button", { name: accountActions.removePicture.label })).toHaveCount(0)
})

test("a ban disables keys and sessions on the next request; unbanning restores the keys but no session", async ({
  page,
  signUp,
  database,
  browser,
  request,
}) => {
  const target = await targetOf(database, (await signUp()).email)
  await page.goto("/api-keys")
  const key = await createKey(page, uniqueName("Caller"))
  await saved(page)
  const call = async () => {
    const response = await request.get("/api/v1/me", { headers: { Authorization: `Bearer ${key}` } })
    return [response.status(), (await response.json()).error?.code]
  }
  expect(await call()).toEqual([200, undefined])

  const adminPage = await anotherBrowser(browser, database, "admin")
  await adminPage.goto(target.page)
  const dialog = await openAction(adminPage, "Ban account")
  await expect(dialog).toContainText(target.name)
  await expect(dialog).toContainText(target.email)
  await dialog.getByLabel("Reason (optional)").fill("Sent spam")
  await dialog.getByRole("button", { name: "Ban account" }).click()
  await expect(statusOf(adminPage)).toHaveText("The account is banned. Undo")
  await expect(dialog).toHaveCount(0)
  await expect(adminPage.getByRole("heading", { level: 1 })).toContainText("Banned")
  await expectNoAction(adminPage, "Ban account")

  expect(await call()).toEqual([403, "forbidden"])
  await page.goto("/api-keys")
  await expect(page).toHaveURL(/\/sign-in/)

  await statusOf(adminPage).getByRole("link", { name: "Undo" }).click()
  await adminPage.getByRole("button", { name: "Unban" }).click()
  await expect(statusOf(adminPage)).toContainText("The account is unbanned.")
  expect(await call()).toEqual([200, undefined])
  await page.goto("/api-keys")
  await expect(page).toHaveURL(/\/sign-in/)
  expect(await audited(database, target)).toEqual([
    ["user.banned", { from: "active", to: "banned", reason: "Sent spam" }],
    ["user.unbanned", { from: "banned", to: "active" }],
  ])
})

test("a role change takes effect on the next request", async ({ page, signUp, database, browser }) => {
  const target = await targetOf(database, (await signUp()).email)
  expect((await page.goto("/admin/users"))?.status()).toBe(403)
  const adminPage = await anotherBrowser(browser, database, "admin")
  await adminPage.goto(target.page)
  const assignRole = async (role: Role) => {
    const dialog = await openAction(adminPage, "Change role")
    await dialog.getByLabel("New role").selectOption(role)
    await dialog.getByRole("button", { name: "Change role" }).click()
    await expect(statusOf(adminPage)).toHaveText(`The role is now ${role}.`)
    await expect(dialog).toHaveCount(0)
  }
  await assignRole("support")
  expect((await page.goto("/admin/users"))?.status()).toBe(200)
  await assignRole("member")
  expect((await page.goto("/admin/users"))?.status()).toBe(403)
  expect(await audited(database, target)).toEqual([
    ["user.role_changed", { from: "member", to: "support" }],
    ["user.role_changed", { from: "support", to: "member" }],
  ])
})

test("closing is final, and a closed account can only be deleted", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const target = await newTarget(database, 10)
  await signInAs("admin")
  await page.goto(target.page)
  const dialog = await openAction(page, "Close account")
  await expect(dialog).toContainText("This cannot be undone.")
  await dialog.getByRole("button", { name: "Close account" }).click()
  await expect(statusOf(page)).toHaveText("The account is closed.")
  await expect(page.getByText("Its role, status and credits can no longer be changed")).toBeVisible()
  for (const { label } of Object.values(accountActions)) {
    if (label !== accountActions.delete.label) await expectNoAction(page, label)
  }
  for (const action of ["unban", "grant", "undoDeletion"]) {
    await page.goto(`${target.page}?action=${action}`)
    await expect(page.getByText("This action is not available")).toBeVisible()
  }
  expect(await audited(database, target)).toEqual([["user.closed", { from: "active", to: "closed" }]])
})

test("an admin cannot act on owners and admins, and the dialog of a refused action keeps the input", {
  tag: "@long",
}, async ({ page, signInAs, database }) => {
  await signInAs("admin")
  await page.goto((await targetOf(database, "owner@example.com")).page)
  await expect(page.getByRole("main")).toContainText("Only an owner can change the role of this account")
  for (const action of ["Ban account", "Close account", "Change role"]) await expectNoAction(page, action)
  const target = await newTarget(database)
  await page.goto(target.page)
  const dialog = await openAction(page, "Ban account")
  await dialog.getByLabel("Reason (optional)").fill("A coup")
  await database.query("UPDATE users SET role = 'owner' WHERE id = $1", [target.id])
  await dialog.getByRole("button", { name: "Ban account" }).click()
  await expect(dialog.getByRole("alert")).toContainText("Only an owner can change the role of this account")
  await expect(dialog.getByLabel("Reason (optional)")).toHaveValue("A coup")
  const { rows } = await database.query("SELECT role, status FROM users WHERE id = $1", [target.id])
  expect(rows).toEqual([{ role: "owner", status: "active" }])
  await database.query("UPDATE users SET role = 'member' WHERE id = $1", [target.id])
})

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "with JavaScript disabled", () => {
    test.use({ javaScriptEnabled })

    test("staff revoke a leaked key, then all keys of the account, and the customer gets emails", {
      tag: "@long",
    }, async ({ page, signInAs, database }) => {
      const target = await newTarget(database)
      for (const name of ["Leaked", "Second", "Third"]) await insertKey(database, target, name)
      await signInAs("support")
      await page.goto(target.page)
      await expect(row(page, "Leaked")).toContainText("Never used")
      await expect(page.getByRole("button", { name: "Revoke" })).toHaveCount(0)

      await signInAs("admin")
      await page.goto(target.page)
      await row(page, "Leaked").getByRole("button", { name: "Revoke" }).click()
      await page.getByLabel("Reason").selectOption("It leaked")
      await page.getByRole("button", { name: "Revoke key" }).click()
      await expect(page.getByText("The key “Leaked” is revoked.")).toBeVisible()
      await expect(row(page, "Leaked")).toHaveCount(0)
      await emailTo(target.email, "Leaked")

      await page.goto(target.page)
      await (await buttonOf(page, "Revoke all keys")).click()
      const confirmation = page.getByRole(javaScriptEnabled ? "dialog" : "region", {
        name: "Revoke all keys of this account?",
      })
      await confirmation.getByRole("button", { name: "Revoke all keys" }).click()
      await expect(statusOf(page)).toContainText("2 keys are revoked.")
      const email = await emailTo(target.email, "Second")
      await page.goto(`${target.page}?show=all`)
      await expect(row(page, "Leaked")).toContainText("It leaked")
      for (const [name, isNamed] of Object.entries({ Leaked: false, Second: true, Third: true })) {
        await expect(row(page, name)).toContainText("Revoked")
        expect(email.includes(`"${name}"`)).toBe(isNamed)
      }
    })
  })
}

test("credits are granted and deducted with a reason, in the ledger and the audit log", async ({
  page,
  signInAs,
  database,
  request,
}) => {
  const target = await newTarget(database)
  await signInAs("admin")
  await page.goto(target.page)
  const grant = await openAction(page, "Grant credits")
  await expect(grant).toContainText(`${target.name} (${target.email}) has 0 credits.`)
  await grant.getByLabel("Credits").fill("1e3")
  await grant.getByLabel("Reason").fill("Sorry for the outage")
  await grant.getByRole("button", { name: "Grant credits" }).click()
  await expect(grant.getByLabel("Credits")).toHaveAccessibleDescription(/whole number from 1 to 1,000,000/)
  await expect(grant.getByLabel("Credits")).toBeFocused()
  await expect(grant.getByLabel("Credits")).toHaveValue("1e3")
  await expect(grant.getByLabel("Reason")).toHaveValue("Sorry for the outage")
  await grant.getByLabel("Credits").fill("1000")
  await grant.getByRole("button", { name: "Grant credits" }).click()
  await expect(statusOf(page)).toHaveText("1,000 credits granted. The balance is 1,000 credits.")

  const deduct = await openAction(page, "Deduct credits")
  await deduct.getByLabel("Credits").fill("1001")
  await deduct.getByLabel("Reason").fill("Too many")
  await deduct.getByRole("button", { name: "Deduct credits" }).click()
  await expect(deduct.getByLabel("Credits")).toHaveAccessibleDescription(/The balance is 1,000 credits/)
  await expect(deduct.getByLabel("Reason")).toHaveValue("Too many")
  await deduct.getByLabel("Credits").fill("400")
  await deduct.getByRole("button", { name: "Deduct credits" }).click()
  await expect(statusOf(page)).toHaveText("400 credits deducted. The balance is 600 credits.")
  await expect(page.getByRole("definition").filter({ hasText: /^600$/ })).toBeVisible()

  const { id: admin } = await targetOf(database, "admin@example.com")
  expect(await rows(request, `/api/v1/admin/credits?userId=${target.id}&order=asc`)).toMatchObject([
    { kind: "grant", amount: 1000, balanceAfter: 1000, actorId: admin, reason: "Sorry for the outage" },
    { kind: "adjustment", amount: -400, balanceAfter: 600, actorId: admin, reason: "Too many" },
  ])
  expect(await audited(database, target)).toEqual([
    ["credits.granted", { amount: 1000, reason: "Sorry for the outage", balance: 1000 }],
    ["credits.deducted", { amount: 400, reason: "Too many", balance: 600 }],
  ])
})

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "with JavaScript disabled", () => {
    test.use({ javaScriptEnabled })

    test("a note is shown to staff with its author, and two are added one after the other", { tag: "@long" }, async ({
      page,
      signInAs,
      database,
    }) => {
      const target = await newTarget(database)
      await signInAs("admin")
      await page.goto(target.page)
      const notes = page.getByRole("region", { name: "Staff notes" })
      for (const text of ["Called about the invoice.", "Paid by bank transfer."]) {
        await notes.getByLabel("New note").fill(text)
        await notes.getByRole("button", { name: "Add note" }).click()
        await expect(notes.getByRole("listitem").first()).toContainText(text)
        await expect(notes.getByRole("listitem").first()).toContainText("admin@example.com, just now")
        await expect(notes.getByLabel("New note")).toHaveValue("")
      }
      await signInAs("support")
      await page.goto(target.page)
      await expect(notes.getByLabel("New note")).toBeVisible()
      await signInAs("analyst")
      await page.goto(target.page)
      await expect(notes.getByRole("listitem")).toHaveCount(2)
      await expect(notes.getByRole("textbox")).toHaveCount(0)
    })
  })
}

test("a grant retried after a lost response is made once, and the next form makes a new grant", async ({
  page,
  signInAs,
  database,
}) => {
  const target = await newTarget(database)
  await signInAs("admin")
  await page.goto(target.page)
  const dialog = await openAction(page, "Grant credits")
  await dialog.getByLabel("Credits").fill("50")
  await dialog.getByLabel("Reason").fill("Lost on the way")
  await page.route("**/admin/users/*", async (route) => {
    if (route.request().method() !== "POST") return route.continue()
    await route.fetch()
    await route.abort()
  })
  await dialog.getByRole("button", { name: "Grant credits" }).click()
  await expect(dialog.getByRole("alert")).toContainText("There was no response.")
  await expect(dialog.getByLabel("Credits")).toHaveValue("50")
  await page.unroute("**/admin/users/*")
  await dialog.getByRole("button", { name: "Grant credits" }).click()
  await expect(statusOf(page)).toContainText("was already submitted: 50 credits granted")

  const again = await openAction(page, "Grant credits")
  await again.getByLabel("Credits").fill("5")
  await again.getByLabel("Reason").fill("Another one")
  await again.getByRole("button", { name: "Grant credits" }).click()
  await expect(statusOf(page)).toHaveText("5 credits granted. The balance is 55 credits.")
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("an account is banned, and a grant submitted twice is made once", { tag: "@long" }, async ({
    page,
    signInAs,
    database,
  }) => {
    const target = await newTarget(database)
    await signInAs("admin")
    await page.goto(target.page)
    await (await buttonOf(page, "Ban account")).click()
    await expect(page).toHaveURL(`${target.page}?action=ban`)
    await expect(page.getByRole("region", { name: "Ban this account?" })).toContainText(target.name)
    await page.getByRole("button", { name: "Ban account" }).click()
    await expect(statusOf(page)).toContainText("The account is banned.")
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Banned")
    await page.getByRole("link", { name: "Back to the account" }).click()
    await expect(page).toHaveURL(target.page)

    await page.getByRole("button", { name: "Grant credits" }).click()
    await page.getByRole("textbox", { name: "Credits" }).fill("0x10")
    await page.getByLabel("Reason").fill("By hand")
    await page.getByRole("button", { name: "Grant credits" }).click()
    await expect(page.getByRole("textbox", { name: "Credits" })).toHaveAccessibleDescription(/whole number/)
    await expect(page.getByRole("textbox", { name: "Credits" })).toHaveValue("0x10")
    await expect(page.getByLabel("Reason")).toHaveValue("By hand")
    await page.getByRole("textbox", { name: "Credits" }).fill("16")
    await page.getByRole("button", { name: "Grant credits" }).click()
    await expect(statusOf(page)).toContainText("16 credits granted. The balance is 16 credits.")
    await page.reload()
    await expect(statusOf(page)).toContainText("It was not applied again.")
    const { rows } = await database.query("SELECT balance::int FROM credit_accounts WHERE user_id = $1", [target.id])
    expect(rows).toEqual([{ balance: 16 }])
  })
})

test("without credits.read, no balance is shown for any action in the URL", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const target = await newTarget(database, 4711)
  await signInAs("admin")
  await page.goto(`${target.page}?action=grant`)
  expect(await page.content()).toContain("4,711 credits")
  await signInAs("support")
  for (const query of ["", "?action=grant", "?action=deduct", "?action=ban"]) {
    await page.goto(target.page + query)
    await expect(page.getByRole("heading", { level: 1 })).toContainText(target.name)
    expect(await page.content(), query).not.toMatch(/4,?711/)
  }
})

test("actions are hidden without permission", async ({ page, signInAs, database }) => {
  const target = await newTarget(database)
  await signInAs("analyst")
  await page.goto(target.page)
  await expect(page.getByRole("heading", { level: 1 })).toContainText(target.name)
  await expectNoActions(page)
  await expect(page.getByRole("button", { name: "Revoke" })).toHaveCount(0)
  await expect(page.getByLabel("New note")).toHaveCount(0)
  await page.goto(`${target.page}?action=ban`)
  await expect(page.getByText("is not available for this account")).toBeVisible()
})

test("an admin cannot change their own account, and the page says so", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const { page: own } = await targetOf(database, "admin@example.com")
  await signInAs("admin")
  await page.goto(own)
  await expect(page.getByText("You cannot use these actions on your own account")).toBeVisible()
  for (const action of ["Change role", "Ban account", "Close account", "Grant credits", "Revoke all keys"]) {
    await expectNoAction(page, action)
  }
  await page.goto(`${own}?action=close`)
  await expect(page.getByText("is not available for this account")).toBeVisible()
})

test("the page requires users.read and returns 404 for an id without an account", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const target = await newTarget(database)
  await page.goto(target.page)
  await expect(page).toHaveURL(`/sign-in?callbackUrl=${encodeURIComponent(target.page)}`)
  await signInAs("finance")
  expect((await page.goto(target.page))?.status()).toBe(403)
  await expect(page.getByRole("main")).toContainText("users.read")
  await expect(page.getByText(target.email)).toHaveCount(0)
  await signInAs("support")
  for (const id of [randomUUID(), "me", "1", "%00", `${target.id}0`]) {
    expect((await page.goto(`/admin/users/${id}`))?.status(), id).toBe(404)
    await expect(page.getByRole("heading", { name: "Account not found" })).toBeVisible()
  }
})

test("an account's page links to its records that the viewer may read", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const target = await newTarget(database, 70)
  const links = async () => {
    await page.goto(target.page)
    const all = page.getByRole("navigation", { name: "Records of this account" }).getByRole("link")
    return all.evaluateAll((found) => found.map((link) => link.getAttribute("href")))
  }
  await signInAs("support")
  const ofModules = ["/admin/feedback", "/admin/emails"].filter(isPresent)
  expect(await links()).toEqual(ofModules.map((path) => `${path}?userId=${target.id}`))
  await expect(page.getByRole("term")).toHaveCount(0)
  const shown = page.getByRole("main").getByRole("heading", { level: 2 })
  await expect(shown).toContainText([
    "Staff notes",
    "API keys",
    ...(isPresent("/admin/emails") ? ["Emails sent"] : []),
    "Sessions",
  ])
  for (const name of ["Activity", "Orders", "Credits"]) await expect(shown.getByText(name)).toHaveCount(0)
  await signInAs("admin")
  const hrefs = await links()
  await expect(page.getByRole("term")).toContainText(["Balance", "Plan", "Revenue"])
  const lists = [
    ["/admin/feedback", "userId"],
    ["/admin/subscriptions", "userId"],
    ["/admin/orders", "userId"],
    ["/admin/credits/balances", "userId"],
    ["/admin/credits", "userId"],
    ["/admin/requests", "userId"],
    ["/admin/usage", "userId"],
    ["/admin/audit", "actorId"],
    ["/admin/audit", "targetId"],
    ["/admin/emails", "userId"],
  ] as const
  const expected = lists.filter(([path]) => isPresent(path)).map(([path, filter]) => `${path}?${filter}=${target.id}`)
  expect(hrefs).toEqual(expected)
  for (const href of sampled(hrefs, 2)) {
    expect((await page.goto(String(href)))?.status()).toBe(200)
    await expect(page.getByRole("main").getByRole("alert")).toHaveCount(0)
  }
  await page.goto(target.page)
  await page.getByRole("link", { name: "Credit ledger" }).last().click()
  await expect(page.getByRole("row")).toHaveCount(2)
})

test.describe("in light and dark mode", () => {
  test.use({ viewport: wide })

  test("the dialogs and notices of an account are accessible and fit narrow screens", { tag: "@long" }, async ({
    page,
    signInAs,
    database,
  }) => {
    const target = await newTarget(database, 70)
    await database.query("UPDATE users SET name = $1 WHERE id = $2", [`Wide ${"w".repeat(90)}`, target.id])
    await insertKey(database, target, `Wide ${"w".repeat(70)}`)
    await signInAs("admin")
    await page.goto(target.page)
    for (const action of ["Change role", "Grant credits", "Ban account"]) {
      await openAction(page, action)
      await expectAccessibleWithoutSidewaysScroll(page)
      await page.keyboard.press("Escape")
      await expect(page.getByRole("dialog")).toHaveCount(0)
      const opener = action === "Grant credits" ? action : "Actions"
      await expect(page.getByRole("button", { name: opener, exact: true })).toBeFocused()
    }
    const dialog = await openAction(page, "Deduct credits")
    await dialog.getByLabel("Credits").fill("71")
    await dialog.getByLabel("Reason").fill("-")
    await dialog.getByRole("button", { name: "Deduct credits" }).click()
    await expect(dialog.getByRole("alert")).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
    await dialog.getByLabel("Credits").fill("1")
    await dialog.getByLabel("Reason").fill("One less")
    await dialog.getByRole("button", { name: "Deduct credits" }).click()
    await expect(statusOf(page)).toHaveText("1 credit deducted. The balance is 69 credits.")
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.goto(`${target.page}?action=role`)
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.goto(`/admin/users/${randomUUID()}`)
    await expectAccessibleWithoutSidewaysScroll(page)
  })
})
