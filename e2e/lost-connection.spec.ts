import { expect, type Page } from "@playwright/test"
import { demoPassword } from "@/lib/process/demo-accounts"
import { sampled } from "@/tests/support/sample"
import { hasSample } from "@/tests/support/work"
import { test, uniqueEmail, uniqueName } from "./fixtures"
import { createKey, openDialog, row, saved } from "./key-page"
import { hydrated } from "./pages"

type Prepared = {
  /** Opens the form and fills in its fields. */
  fill: (page: Page) => Promise<void>
  submit: string
  /** The label of a field and the text typed into it, if the form has one. */
  typed?: [string, string]
  /** Expects the result of a second attempt. */
  afterwards: (page: Page) => Promise<void>
  /** Whether it ends the session, so that it needs an account of its own. */
  endsSession?: boolean
}

const member = "member@example.com"

const forms: Record<string, Prepared> = {
  "sign-in": {
    fill: async (page) => {
      await page.context().clearCookies()
      await open(page, "/sign-in")
      await page.getByLabel("Email").fill(member)
      await page.getByLabel("Password").fill(demoPassword)
    },
    submit: "Sign in",
    typed: ["Email", member],
    afterwards: (page) => expect(page).toHaveURL(/\/account$/),
  },
  "the creation of a key": {
    fill: async (page) => {
      await open(page, "/api-keys")
      const dialog = await openDialog(page)
      await dialog.getByLabel("Name").fill("Kept")
    },
    submit: "Create key",
    typed: ["Name", "Kept"],
    afterwards: (page) => expect(page.getByRole("heading", { name: "Save your new key" })).toBeVisible(),
  },
  "the revocation of a key": {
    fill: async (page) => {
      await open(page, "/api-keys")
      const name = uniqueName("Lost")
      await createKey(page, name)
      await saved(page)
      await row(page, name).getByRole("button", { name: "Revoke" }).click()
      await expect(page.getByRole("dialog")).toBeVisible()
    },
    submit: "Revoke key",
    afterwards: (page) => expect(page.getByText(/The key “Lost .*” is revoked/)).toBeVisible(),
  },
  "sign-up": {
    fill: async (page) => {
      await page.context().clearCookies()
      await open(page, "/sign-up")
      await page.getByLabel("Name").fill("Nova Newcomer")
      await page.getByLabel("Email").fill(uniqueEmail())
      await page.getByLabel("Password").fill("four words make sense")
    },
    submit: "Create account",
    typed: ["Name", "Nova Newcomer"],
    afterwards: (page) => expect(page).toHaveURL(/\/verify$/),
  },
  ...(hasSample && {
    "the sample of the start page": {
      fill: async (page: Page) => {
        await open(page, "/")
        await page.getByLabel("Your text").fill("A text of a visitor.")
      },
      submit: "Run",
      typed: ["Your text", "A text of a visitor."],
      afterwards: (page: Page) => expect(page.getByRole("status").filter({ hasText: "would cost" })).toBeVisible(),
    },
  }),
  "sign-out": {
    fill: async (page) => {
      await open(page, "/account")
      await page.getByRole("button", { name: /^Account menu/ }).click()
    },
    submit: "Sign out",
    endsSession: true,
    afterwards: (page) => expect(page).toHaveURL(/\/sign-in$/),
  },
}

for (const [name, { fill, submit, typed, afterwards, endsSession }] of sampled(Object.entries(forms), 2)) {
  test(`${name} survives a lost connection: a message gets the focus, the input stays, and a second try works`, async ({
    page,
    context,
    customer,
    signUp,
  }) => {
    if (endsSession) await signUp()
    else await context.addCookies(customer.cookies)
    await fill(page)
    const isPost = (url: URL) => url.origin === new URL(page.url()).origin
    await page.route(isPost, (route) => (route.request().method() === "POST" ? route.abort() : route.continue()))
    const button = page.getByRole("button", { name: submit }).last()
    await button.click()
    const alert = page.getByRole("alert").filter({ hasText: "There was no response. Check your connection" })
    await expect(alert).toBeFocused()
    if (typed) await expect(page.getByLabel(typed[0])).toHaveValue(typed[1])
    await page.unroute(isPost)
    await button.click()
    await afterwards(page)
  })
}

test("a form of an earlier build says that the page is outdated, and the input stays", async ({
  page,
  context,
  customer,
}) => {
  await context.addCookies(customer.cookies)
  await forms["the creation of a key"]?.fill(page)
  await page.route("**/api-keys", (route) =>
    route.continue({ headers: { ...route.request().headers(), "next-action": "0".repeat(42) } }),
  )
  await page.getByRole("button", { name: "Create key" }).last().click()
  await expect(page.getByRole("alert").filter({ hasText: "This page is outdated. Reload it" })).toBeFocused()
  await expect(page.getByLabel("Name")).toHaveValue("Kept")
})

async function open(page: Page, path: string): Promise<void> {
  await page.goto(path)
  await hydrated(page)
}
