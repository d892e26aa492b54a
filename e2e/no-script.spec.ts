import { expect } from "@playwright/test"
import { verificationTokenIn } from "@/tests/support/mail-server"
import { work } from "@/tests/support/work"
import { test, uniqueEmail, uniqueName } from "./fixtures"
import { choosePermission, row, shownKey, unfoldLimits } from "./key-page"
import { emailTo } from "./mail"

test.use({ javaScriptEnabled: false })

test("without JavaScript: sign up, create a key, save it, revoke it, sign out", async ({ page, request }) => {
  const [email, name] = [uniqueEmail(), uniqueName("Plain")]
  await page.goto("/sign-up")
  await page.getByLabel("Name").fill("Nora Noscript")
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill("four words make sense")
  await page.getByRole("button", { name: "Create account" }).click()
  await expect(page).toHaveURL(/\/verify$/)
  await page.getByRole("button", { name: "Resend email" }).click()
  await expect(page.getByRole("heading", { name: "We sent another email" })).toBeVisible()
  await page.goto(`/verify/${verificationTokenIn(await emailTo(email, "/verify/", 2))}`)
  await page.getByRole("button", { name: "Confirm address" }).click()
  await expect(page).toHaveURL(/\/api-keys\?new$/)

  await page.getByRole("link", { name: "API keys", exact: true }).click()
  await page.getByRole("button", { name: "Create key" }).click()
  await page.getByLabel("Name").fill(name)
  await expect(page.getByLabel("Expires")).toHaveAccessibleDescription(/^Expires on/)
  await page.getByLabel("Expires").selectOption("Never")
  await expect(page.getByLabel("Expires")).toHaveAccessibleDescription("Works until it is revoked.")
  const created = page.waitForResponse((response) => response.request().method() === "POST")
  await page.getByRole("button", { name: "Create key" }).click()
  expect((await created).headers()["cache-control"]).toContain("no-store")
  const key = await shownKey(page)
  for (const language of ["curl", "JavaScript", "Python"]) {
    await expect(page.getByLabel(language)).toHaveValue(new RegExp(`${work.path}"[^]*Bearer ${key}"`))
  }
  await expect(page.getByText("Run one of these in a terminal.")).toBeVisible()
  await expect(row(page, name)).toContainText("Active")
  const headers = { Authorization: `Bearer ${key}` }
  expect((await request.get("/api/v1/me", { headers })).status()).toBe(200)

  await page.reload()
  await expect(page.getByRole("heading", { name: "This key was already created" })).toBeVisible()
  await expect(page.getByText("A key is shown only once")).toBeVisible()
  expect(await page.content()).not.toContain(key)
  await expect(row(page, name)).toHaveCount(1)

  await page.getByRole("link", { name: "Back to the list" }).click()
  await row(page, name).getByRole("button", { name: "Revoke" }).click()
  await expect(page.getByRole("region", { name: "Revoke this key?" })).toContainText(name)
  await page.getByLabel("Reason").selectOption("Its user left the team")
  await page.getByRole("button", { name: "Revoke key" }).click()
  await expect(page.getByText(`The key “${name}” is revoked.`)).toBeVisible()
  await expect(row(page, name)).toHaveCount(0)
  await page.getByRole("link", { name: "Show 1 revoked" }).click()
  await expect(row(page, name)).toContainText(/Revoked\s*Its user left the team/)
  expect((await request.get("/api/v1/me", { headers })).status()).toBe(401)

  await page.getByRole("button", { name: /^Account menu/ }).click()
  await page.getByRole("button", { name: "Sign out" }).click()
  await expect(page).toHaveURL(/\/sign-in$/)
  await page.goto("/api-keys")
  await expect(page).toHaveURL(/\/sign-in\?callbackUrl=%2Fapi-keys$/)
})

test("without JavaScript: create a key with limits, change it, rotate it", { tag: "@long" }, async ({
  page,
  signUp,
  request,
}) => {
  const name = uniqueName("Plain limits")
  await signUp()
  await page.goto("/api-keys?new")
  await unfoldLimits(page)
  await page.getByLabel("Name").fill(name)
  for (const box of await page.getByRole("checkbox").all()) await box.uncheck()
  await page.getByLabel("Requests per minute").fill("60")
  await page.getByRole("button", { name: "Create key" }).click()
  await expect(page.getByRole("group", { name: "Permissions" })).toHaveAccessibleDescription(/Choose at least one/)
  await expect(page.getByRole("checkbox", { checked: true })).toHaveCount(0)
  await expect(page.getByLabel("Requests per minute")).toHaveValue("60")
  await page.getByRole("checkbox", { name: "read" }).check()
  await page.getByRole("button", { name: "Create key" }).click()
  const old = await shownKey(page)
  await expect(row(page, name)).toContainText("read · 60 requests per minute")
  const post = () =>
    request.post(work.path, { headers: { "x-api-key": old, "content-type": "application/json" }, data: work.body })
  expect((await post()).status()).toBe(403)

  await page.goto("/api-keys")
  await row(page, name).getByRole("button", { name: "Edit" }).click()
  const form = page.getByRole("region", { name: "Edit this key" })
  await form.getByLabel("Requests per minute").fill("0")
  await form.getByRole("button", { name: "Save changes" }).click()
  await expect(form.getByLabel("Requests per minute")).toHaveAccessibleDescription(/whole number from 1 to 300/)
  await form.getByLabel("Requests per minute").fill("30")
  await form.getByLabel("Spending limit").fill("5")
  await form.getByRole("button", { name: "Save changes" }).click()
  await expect(page.getByText(`The key “${name}” is changed.`)).toBeVisible()
  await expect(row(page, name)).toContainText("read · 0 of 5 credits this month · 30 requests per minute")

  await page.getByRole("link", { name: "Back to the list" }).click()
  await row(page, name).getByRole("button", { name: "Rotate" }).click()
  await page.getByLabel("How long the old key keeps working").selectOption("1 hour")
  await page.getByRole("button", { name: "Rotate key" }).click()
  const key = await shownKey(page)
  await expect(page.getByText(/The old key works until/)).toBeVisible()
  await expect(row(page, name)).toHaveCount(1)
  await expect(row(page, name)).toContainText("Replaces")
  for (const secret of [old, key]) {
    expect((await request.get("/api/v1/me", { headers: { "x-api-key": secret } })).status()).toBe(200)
  }
  await page.reload()
  await expect(page.getByRole("heading", { name: "This key was already created" })).toBeVisible()
  expect(await page.content()).not.toContain(key)
  await page.getByRole("link", { name: "Back to the list" }).click()
  await page.getByRole("button", { name: "Revoke old key" }).click()
  await page.getByLabel("Reason").selectOption("Another reason")
  await page.getByRole("button", { name: "Revoke key" }).click()
  await expect(page.getByText(`The key “${name}” is revoked.`)).toBeVisible()
  expect((await request.get("/api/v1/me", { headers: { "x-api-key": old } })).status()).toBe(401)
  await expect(row(page, name)).not.toContainText("Replaces")
})

test("without JavaScript, errors are shown at their field and the input stays", async ({ page, context, customer }) => {
  await context.addCookies(customer.cookies)
  await page.goto("/api-keys?new")
  const name = uniqueName("Undated")
  await page.getByLabel("Name").fill(name)
  await page.getByLabel("Expires").selectOption("A date")
  await page.getByRole("button", { name: "Create key" }).click()
  await expect(page.getByLabel("Last day")).toHaveAccessibleDescription(/Choose a date/)
  await expect(page.getByLabel("Name")).toHaveValue(name)
  await expect(page.getByLabel("Expires")).toHaveValue("date")
  await expect(row(page, name)).toHaveCount(0)
  await page.getByRole("link", { name: "Cancel" }).click()
  await expect(page).toHaveURL(/\/api-keys$/)
})

test("without JavaScript, an admin key is shown with its agent prompt", { tag: "@long" }, async ({
  page,
  signInAs,
  baseURL,
}) => {
  await signInAs("finance")
  await page.goto("/admin/api-keys?new")
  await page.getByLabel("Name").fill(uniqueName("Plain agent"))
  await expect(page.getByRole("checkbox", { checked: true })).toHaveCount(0)
  await choosePermission(page.getByRole("main"))
  await page.getByRole("button", { name: "Create key" }).click()
  const key = await shownKey(page)
  await expect(page.getByLabel("Agent prompt")).toHaveValue(new RegExp(`${baseURL}/api/v1/admin[^]*Bearer ${key}`))
  await page.getByRole("button", { name: "I have saved this key" }).click()
  await expect(page).toHaveURL(/\/admin\/api-keys\??#key-[0-9a-f-]{36}$/)
  expect(await page.content()).not.toContain(key)
})
