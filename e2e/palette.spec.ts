import { expect, type Page } from "@playwright/test"
import type pg from "pg"
import { startOf } from "@/lib/keys/secret"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { expectNoViolations, narrow } from "./accessibility"
import { test } from "./fixtures"
import { hydrated } from "./pages"

const mailto = `mailto:${product.supportEmail}`

const field = (page: Page) => page.getByRole("combobox", { name: /^Find a / })
const options = (page: Page) => page.getByRole("option")

/** On a page that is ready for the shortcut. */
async function open(page: Page): Promise<void> {
  await expect(page.getByRole("button", { name: "Find" })).toBeVisible()
  await page.keyboard.press("Control+k")
  await expect(field(page)).toBeFocused()
}

test("Ctrl K finds pages and their actions by name, and Enter opens the first", async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin/orders")
  await open(page)
  await field(page).fill("key")
  const names = ["API keys", "Admin keys", "Create an API key", "Create an admin key"]
  for (const [index, name] of names.entries()) await expect(options(page).nth(index)).toHaveText(name)
  await expectNoViolations(page)
  await field(page).fill("ledger")
  await expect(options(page).first()).toHaveText("Credit ledger")
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL("/admin/credits")
  await expect(field(page)).toBeHidden()
})

test("Ctrl K works by place on keyboards of other scripts, and by character on other Latin keyboards", async ({
  page,
  signInAs,
}) => {
  const errors: Error[] = []
  page.on("pageerror", (error) => errors.push(error))
  await signInAs("member")
  await page.goto("/account")
  await expect(page.getByRole("button", { name: "Find" })).toBeVisible()
  const press = (key: string, code: string) =>
    page.evaluate((init) => window.dispatchEvent(new KeyboardEvent("keydown", { ...init, ctrlKey: true })), {
      key,
      code,
    })
  await press("t", "KeyK")
  await page.evaluate(() => window.dispatchEvent(new Event("keydown")))
  await expect(field(page)).toBeHidden()
  await press("л", "KeyK")
  await expect(field(page)).toBeFocused()
  expect(errors).toEqual([])
})

test("the second factor, the export and the deletion are found by their common names", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  await page.goto("/account")
  const names = {
    "Manage two-factor authentication": [
      "two-factor",
      "two factor",
      "2FA",
      "passkey",
      "authenticator",
      "recovery codes",
    ],
    "Export your data": ["export", "download my data", "my data"],
    "Delete your account": ["delete", "delete account"],
  }
  await open(page)
  for (const [name, asked] of Object.entries(names)) {
    for (const text of asked) {
      await field(page).fill(text)
      await expect(options(page).first()).toHaveText(name)
    }
  }
  // A word is found from its start: see "passkey".
  await field(page).fill("key")
  await expect(options(page).first()).toHaveText("API keys")
  await expect(options(page).filter({ hasText: "two-factor" })).toHaveCount(0)
  await field(page).fill("2fa")
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL("/account/security/two-factor")
  await open(page)
  await field(page).fill("close my account")
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL("/account/settings#deletion")
  await expect(page.getByRole("heading", { name: "Delete your account" })).toBeInViewport()
})

test("text typed before the palette is loaded is kept", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  let load = () => {}
  const loaded = new Promise<void>((resolve) => {
    load = resolve
  })
  // Prefetches of other pages may load the palette before Ctrl K does.
  await page.route("**/_next/static/chunks/**", async (route) => {
    const response = await route.fetch()
    if ((await response.text()).includes("Nothing found.")) await loaded
    await route.fulfill({ response })
  })
  await page.goto("/admin/orders")
  await hydrated(page)
  await page.keyboard.press("Control+k")
  await page.keyboard.type("ledgex")
  await page.keyboard.press("Backspace")
  await expect(field(page)).toHaveCount(0)
  load()
  await expect(field(page)).toHaveValue("ledge")
  await expect(options(page).first()).toHaveText("Credit ledger")
  await expect(field(page)).toBeFocused()
  await page.keyboard.type("r")
  await expect(field(page)).toHaveValue("ledger")
})

test("text typed while the palette opens is kept, and presses no button behind it", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/api-keys")
  await hydrated(page)
  // Loads the palette.
  await open(page)
  await page.keyboard.press("Escape")
  await expect(field(page)).toBeHidden()
  await page.getByRole("button", { name: "Create key" }).focus()
  const isPrevented = await page.evaluate(async () => {
    const press = async (key: string, ctrlKey = false) => {
      const isDefault = document.activeElement?.dispatchEvent(
        new KeyboardEvent("keydown", { key, ctrlKey, bubbles: true, cancelable: true }),
      )
      // Before the next frame, in which the field gets the focus.
      for (let turns = 0; turns < 10; turns++) await undefined
      return !isDefault
    }
    await press("k", true)
    return [await press("a"), await press(" "), await press("b")]
  })
  expect(isPrevented).toEqual([true, true, true])
  await expect(field(page)).toHaveValue("a b")
  await expect(field(page)).toBeFocused()
  await page.keyboard.type("c")
  await expect(field(page)).toHaveValue("a bc")
})

const memberId = async (database: pg.Client) => {
  const { rows } = await database.query("SELECT id FROM users WHERE email = 'member@example.com'")
  return String(rows[0].id)
}

test("it leads to the confirmations of the open account and key, if the viewer may act", async ({
  page,
  database,
  signInAs,
}) => {
  const account = `/admin/users/${await memberId(database)}`
  const offered = options(page).filter({ hasText: /^(Ban|Rotate) / })
  await signInAs("admin")
  await page.goto(account)
  await open(page)
  await field(page).fill("ban mia")
  await expect(options(page).first()).toHaveText("Ban Mia Member")
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(`${account}?action=ban`)
  await expect(page.getByRole("region", { name: "Ban this account?" })).toContainText("Mia Member")
  const { rows } = await database.query("SELECT status FROM users WHERE email = 'member@example.com'")
  expect(rows).toEqual([{ status: "active" }])
  // The next action replaces the open confirmation.
  await open(page)
  await field(page).fill("grant")
  await page.keyboard.press("Enter")
  await expect(page.getByRole("region", { name: "Grant credits to this account" }).getByLabel("Credits")).toBeFocused()

  await signInAs("analyst")
  await page.goto(account)
  await open(page)
  await field(page).fill("ban")
  await expect(options(page).first()).toHaveText("Accounts")
  await expect(offered).toHaveCount(0)

  await signInAs("member")
  await page.goto("/api-keys")
  await page.getByRole("link", { name: "Shop backend" }).first().click()
  await expect(page.getByRole("heading", { name: "Shop backend" })).toBeVisible()
  await open(page)
  await field(page).fill("rotate shop")
  await expect(offered).toHaveText(["Rotate Shop backend"])
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(/\/api-keys\?rotate=/)
  await expect(page.getByRole("region", { name: "Rotate key" })).toBeVisible()
})

test("it chooses the theme, signs out, and then forgets what was found", async ({ page, signUp }) => {
  await signUp()
  await page.goto("/account")
  const stored = () => page.evaluate(() => JSON.stringify({ ...localStorage }))
  await page.evaluate((name) => localStorage.setItem(name, "{}"), `${product.slug}-recent`)
  for (const [theme, name] of [
    ["dark", "Dark theme"],
    ["light", "Light theme"],
  ] as const) {
    await open(page)
    await field(page).fill(theme)
    await expect(options(page).first()).toHaveText(name)
    await page.keyboard.press("Enter")
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme)
  }
  expect(await stored()).toContain("recent")
  await open(page)
  await field(page).fill("sign out")
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(/\/sign-in$/)
  expect(await stored()).toBe("{}")
})

test("the last five findings are offered again, stored without names, and not to another account", async ({
  page,
  database,
  signInAs,
  signUp,
}) => {
  await signInAs("support")
  await page.goto("/admin/users")
  const recent = page.getByRole("group", { name: "Recent" }).getByRole("option")
  const find = async (text: string, url: RegExp | string) => {
    await open(page)
    await field(page).fill(text)
    await options(page).first().click()
    await expect(page).toHaveURL(url)
  }
  await open(page)
  await expect(recent).toHaveCount(0)
  await page.keyboard.press("Escape")
  for (const name of ["requests", "orders", "credits", "security", "settings"]) {
    await find(name, new RegExp(`/${name}$`))
  }
  await find("member@exam", `/admin/users/${await memberId(database)}`)
  await find("home", "/account")
  await open(page)
  await expect(recent).toHaveText(["member@example.comMia Member", "Settings", "Security", "Credits"])
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toMatch(/Mia|member@/)
  await recent.first().click()
  await expect(page).toHaveURL(/\/admin\/users\/[0-9a-f-]{36}$/)

  await signUp()
  await page.goto("/account")
  await open(page)
  await expect(options(page).first()).toHaveText("Home")
  await expect(recent).toHaveCount(0)
})

test("it finds an account by a part of its address", async ({ page, signInAs }) => {
  await signInAs("support")
  await page.goto("/admin/users")
  await open(page)
  await field(page).fill("ember@exam")
  await options(page).filter({ hasText: "member@example.com" }).click()
  await expect(page).toHaveURL(/\/admin\/users\/[0-9a-f-]{36}$/)
})

/** A key as the palette shows it: its last use, its status and its first characters. */
const shownKey = (status: string) => new RegExp(`(Used .+|Never used) · ${status} · ${kinds.user.prefix}\\w{4}…$`)

test("a customer finds their own keys, and no accounts", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("member")
  await page.goto("/account")
  await open(page)
  await field(page).fill("member@example.com")
  await expect(page.getByText("Nothing found.")).toBeVisible()
  await field(page).fill(kinds.user.prefix)
  const first = options(page).first()
  await expect(first).toContainText(shownKey("(Active|Expires in \\d+ days?)"))
  await first.click()
  await expect(page).toHaveURL(/\/api-keys\/[0-9a-f-]{36}$/)
})

test("a customer who types key finds their own keys with their last use and status", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  await page.goto("/account")
  await open(page)
  await field(page).fill("key")
  await expect(options(page).filter({ hasText: shownKey("\\S.*") })).not.toHaveCount(0)
})

test("everyone finds support, in the sidebar and by a search for help", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  for (const role of ["member", "bookkeeper"] as const) {
    await signInAs(role)
    await page.goto("/account")
    const help = page.getByRole("navigation", { name: "Help" })
    await expect(help.getByRole("link", { name: "Contact support" })).toHaveAttribute("href", mailto)
    for (const asked of ["support", "Help"]) {
      await open(page)
      await field(page).fill(asked)
      await expect(options(page)).toHaveText([`Contact support${product.supportEmail}`])
      await page.keyboard.press("Escape")
    }
  }
})

test("a whole key finds its page and is not sent", async ({ page, signInAs }) => {
  await signInAs("member")
  await page.goto("/account")
  const sent: string[] = []
  page.on("request", (request) => sent.push(request.url()))
  await open(page)
  const [member] = demoAccounts.filter(({ role }) => role === "member")
  const key = member ? demoKey(member) : ""
  await field(page).fill(key)
  await expect(options(page).first()).toContainText(`${startOf(key)}…`)
  expect(sent.filter((url) => url.includes(`/find?q=${startOf(key)}`))).toHaveLength(1)
  expect(sent.filter((url) => url.includes(key.slice(0, startOf(key).length + 2)))).toEqual([])
})

test("texts that cannot be searched for find nothing", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/account")
  for (const query of [
    "?q=",
    "?q=ab",
    "?q=%00%00%00",
    "?q=%ED%A0%80aaa",
    `?q=${"x".repeat(2_000)}`,
    "?q=%25%25%25",
    "?q=a%5Cb",
  ]) {
    const response = await page.request.get(`/find${query}`)
    expect([query, response.status(), await response.json()]).toEqual([query, 200, []])
  }
})

test("Escape closes it, and on a phone its button is in the menu", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("member")
  await page.setViewportSize(narrow)
  await page.goto("/account")
  await page.getByRole("button", { name: "Menu" }).click()
  await page.getByRole("button", { name: "Find" }).click()
  await expect(field(page)).toBeFocused()
  await page.keyboard.press("Escape")
  await expect(field(page)).toBeHidden()
})
