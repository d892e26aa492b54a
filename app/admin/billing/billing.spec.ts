import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { expect } from "@playwright/test"
import { expectAccessibleWithoutSidewaysScroll } from "@/e2e/accessibility"
import { createAccount, test } from "@/e2e/fixtures"
import { hydrated } from "@/e2e/pages"
import { scripting } from "@/tests/support/sample"

async function control<Result>(name: string, fields: Record<string, string>): Promise<Result> {
  const standIn = readFileSync(String(process.env.E2E_STRIPE_FILE), "utf8")
  const response = await fetch(`${standIn}/_control/${name}`, { method: "POST", body: new URLSearchParams(fields) })
  return (await response.json()) as Result
}

test("finance refunds a part of an order through the provider, once", async ({ page, signInAs, database }) => {
  const { id: userId, email } = await createAccount(database, { credits: 0 })
  const order = randomUUID()
  await database.query(
    `INSERT INTO orders (id, user_id, kind, description, status, amount, currency, credits)
     VALUES ($1, $2, 'credits', '500 credits', 'pending', 1500, 'usd', 500)`,
    [order, userId],
  )
  const bought = { email, amount: "1500", currency: "usd", description: "500 credits", order }
  const { id: payment } = await control<{ id: string }>("purchase", bought)
  await expect
    .poll(() => database.query("SELECT status FROM orders WHERE id = $1", [order]).then(({ rows }) => rows))
    .toEqual([{ status: "paid" }])
  await signInAs("finance")
  await page.goto(`/admin/orders?userId=${userId}`)
  await hydrated(page)
  await page.getByRole("button", { name: "Refund" }).click()
  const dialog = page.getByRole("dialog")
  await expect(dialog.getByLabel("Amount in USD")).toHaveValue("15.00")
  await dialog.getByLabel("Amount in USD").fill("15.01")
  await dialog.getByLabel("Reason").fill("Asked for by email")
  await dialog.getByRole("button", { name: "Refund" }).click()
  await expect(dialog.getByLabel("Amount in USD")).toHaveAccessibleDescription("At most $15.00 can be refunded.")
  await dialog.getByLabel("Amount in USD").fill("5")
  await expectAccessibleWithoutSidewaysScroll(page)
  await dialog.getByRole("button", { name: "Refund" }).click()
  await expect(page.getByRole("status").filter({ hasText: "$5.00 refunded." })).toBeVisible()
  const row = page.locator("main .row")
  await expect(row).toContainText("Partially refunded")
  await expect(row.getByRole("link", { name: payment })).toHaveAttribute(
    "href",
    new RegExp(`^http://127.0.0.1:\\d+/dashboard/payments/${payment}$`),
  )
  const { rows } = await database.query("SELECT balance FROM credit_accounts WHERE user_id = $1", [userId])
  expect(rows).toEqual([{ balance: "334" }])
  const { rows: made } = await database.query(
    "SELECT done_at IS NOT NULL AS done FROM provider_requests WHERE object_id = $1",
    [payment],
  )
  expect(made).toEqual([{ done: true }])
})

test("a purchase that was paid elsewhere is recorded once for its invoice number", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const { id: userId } = await createAccount(database)
  await signInAs("finance")
  for (const said of ["recorded.", "already recorded."]) {
    await page.goto(`/admin/billing/purchase?account=${userId}`)
    await hydrated(page)
    await page.getByLabel("Invoice number").fill(`INV-${userId}`)
    await page.getByLabel("Plan or pack").selectOption({ index: 1 })
    await page.getByLabel("Amount paid").fill("15")
    await page.getByLabel("Reason").fill("Paid by bank transfer")
    await page.getByRole("button", { name: "Record purchase" }).click()
    await expect(page.getByRole("status").filter({ hasText: said })).toBeVisible()
  }
  await page.getByRole("link", { name: "Show the order" }).click()
  await expect(page.locator("main .row")).toHaveCount(1)
})

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a request that the provider always refuses is withdrawn with a reason", async ({
      page,
      signInAs,
      database,
    }) => {
      const { id: userId } = await createAccount(database)
      const id = randomUUID()
      await database.query(
        `INSERT INTO provider_requests (id, provider, user_id, action, object_id, attempts, try_at, error)
         VALUES ($1, 'stripe', $2, 'refund', 'pi_unknown', 3, now() + interval '1 day', 'ProviderRefused')`,
        [id, userId],
      )
      await signInAs("finance")
      await page.goto("/admin/billing")
      if (javaScriptEnabled) await hydrated(page)
      const button = page.locator(`button[name=withdraw][value="${id}"]`)
      await expect(page.locator("main li", { has: button })).toContainText("tried 3 times: ProviderRefused")
      await button.click()
      const title = "Withdraw this request"
      const panel = page.getByRole(javaScriptEnabled ? "dialog" : "region", { name: title, exact: true })
      await expect(panel).toContainText("Refund, pi_unknown")
      await panel.getByLabel("Reason").fill("Paid back by hand")
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await panel.getByRole("button", { name: "Withdraw request" }).click()
      await expect(page.getByRole("status").filter({ hasText: "Request withdrawn." })).toBeVisible()
      await expect(button).toHaveCount(0)
      const { rows } = await database.query(
        "SELECT count(*) FROM provider_requests WHERE id = $1 AND done_at IS NOT NULL AND withdrawn_at IS NOT NULL",
        [id],
      )
      expect(rows).toEqual([{ count: "1" }])
      const { rows: audited } = await database.query(
        "SELECT details FROM audit_entries WHERE action = 'payment_request.withdrawn' AND target_id = $1",
        [userId],
      )
      expect(audited).toEqual([{ details: { action: "refund", reason: "Paid back by hand" } }])
    })
  })
}
