import { expect } from "@playwright/test"
import { demoPassword } from "@/lib/process/demo-accounts"
import { kinds } from "@/lib/surfaces"
import { verificationTokenIn } from "@/tests/support/mail-server"
import { work } from "@/tests/support/work"
import { test, uniqueEmail, uniqueName } from "./fixtures"
import { createKey, outcome, press, row, rowButton, saved, testKey } from "./key-page"
import { emailTo } from "./mail"

test.use({ permissions: ["clipboard-read", "clipboard-write"] })

test("a user key and an admin key each work only on their own surface, and a revoked key gets 401", async ({
  page,
  request,
  baseURL,
}) => {
  const call = async (path: string, key: string) => {
    const response = await request.get(path, { headers: { Authorization: `Bearer ${key}` } })
    const { error } = (await response.json()) as { error?: { code: string } }
    return [response.status(), error?.code]
  }
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())

  await page.goto("/")
  await page.getByRole("link", { name: "Create account" }).first().click()
  await page.getByLabel("Name").fill("Nova Newcomer")
  const email = uniqueEmail()
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill("four words make sense")
  await page.getByRole("button", { name: "Create account" }).click()
  await expect(page).toHaveURL(/\/verify$/)
  await page.goto(`/verify/${verificationTokenIn(await emailTo(email, "/verify/"))}`)
  await page.getByRole("button", { name: "Confirm address" }).click()
  await expect(page).toHaveURL("/api-keys?new")
  await page.getByRole("link", { name: "API keys", exact: true }).click()
  await expect(page.getByText("No keys yet")).toBeVisible()

  const userKeyName = uniqueName("Shop")
  const userKey = await createKey(page, userKeyName)
  expect(userKey.startsWith(kinds.user.prefix)).toBe(true)
  await page.getByRole("button", { name: "Copy key" }).click()
  await expect(page.getByText("Copied")).toBeVisible()
  expect(await clipboard()).toBe(userKey)
  for (const language of ["curl", "JavaScript", "Python"]) {
    await page.getByRole("tab", { name: language }).click()
    const field = page.getByLabel(`Request in ${language}`)
    await expect(field).toHaveValue(new RegExp(`${baseURL}${work.path}"?[^]*Bearer ${userKey}"`))
  }
  await page.getByRole("button", { name: "Copy request" }).click()
  expect(await clipboard()).toContain(`Bearer ${userKey}`)
  await testKey(page, "user")
  await expect(outcome(page)).toHaveText("Status 200: the key works")
  await saved(page)
  await expect(row(page, userKeyName)).toContainText("Active")
  expect(await call("/api/v1/me", userKey)).toEqual([200, undefined])
  expect(await call("/api/v1/admin/users", userKey)).toEqual([403, "wrong_scope"])

  await page.getByRole("button", { name: /^Account menu/ }).click()
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByLabel("Email").fill("admin@example.com")
  await page.getByLabel("Password").fill(demoPassword)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name: "Admin keys" }).click()
  await expect(page.getByRole("heading", { name: "Admin keys" })).toBeVisible()

  const adminKeyName = uniqueName("Agent")
  const adminKey = await createKey(page, adminKeyName, "30 days")
  expect(adminKey.startsWith(kinds.admin.prefix)).toBe(true)
  await page.getByRole("button", { name: "Copy prompt" }).click()
  await expect(page.getByText("Copied")).toBeVisible()
  const prompt = await clipboard()
  expect(prompt).toBe(await page.getByLabel("Prompt for an agent").inputValue())
  expect(prompt).toContain(`Base URL: ${baseURL}/api/v1/admin`)
  expect(prompt).toContain(`Authorization: Bearer ${adminKey}`)
  expect(prompt).toContain(`${baseURL}/api/v1/admin/skill.md\nRead it first`)
  await testKey(page, "admin")
  await expect(outcome(page)).toHaveText("Status 200: the key works")
  await saved(page)
  await expect(row(page, adminKeyName)).toContainText("admin@example.com")
  expect(await call("/api/v1/admin/key", adminKey)).toEqual([200, undefined])
  expect(await call("/api/v1/me", adminKey)).toEqual([403, "wrong_scope"])

  await press(rowButton(page, adminKeyName, "Revoke"))
  const alert = page.getByRole("dialog")
  await expect(alert).toContainText(adminKeyName)
  await expect(alert).toContainText("was last used just now")
  await alert.getByRole("button", { name: "Revoke key" }).click()
  await expect(page.getByText(`The key “${adminKeyName}” is revoked.`)).toBeVisible()
  await expect(row(page, adminKeyName)).toHaveCount(0)
  expect(await call("/api/v1/admin/key", adminKey)).toEqual([401, "unauthorized"])
  expect(await call("/api/v1/me", userKey)).toEqual([200, undefined])
})
