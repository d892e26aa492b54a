import { readFileSync } from "node:fs"
import { expect } from "@playwright/test"
import { demoPayments } from "@/lib/env"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { test } from "./fixtures"

// The pages of scripts/stripe-stand-in, in place of Stripe's.

const standIn = () => readFileSync(String(process.env.E2E_STRIPE_FILE), "utf8")

async function call(path: string, form: Record<string, string>): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${demoPayments.STRIPE_SECRET_KEY}` }
  const response = await fetch(standIn() + path, { method: "POST", headers, body: new URLSearchParams(form) })
  expect(response.status).toBe(200)
  return response.json()
}

test("a customer pays, cancels and resumes in accessible pages that say that no money moves", { tag: "@long" }, async ({
  page,
  baseURL,
}) => {
  const { url = "" } = await call("/v1/checkout/sessions", {
    mode: "subscription",
    "line_items[0][quantity]": "1",
    "line_items[0][price_data][product_data][name]": "A plan",
    "line_items[0][price_data][currency]": "usd",
    "line_items[0][price_data][unit_amount]": "2900",
    "line_items[0][price_data][recurring][interval]": "month",
    customer_email: "ada@example.com",
    success_url: `${baseURL}/?paid={CHECKOUT_SESSION_ID}`,
    cancel_url: `${baseURL}/`,
  })
  await page.goto(url)
  await expect(page.getByText("No money moves here")).toBeVisible()
  await page.getByRole("button", { name: "Pay with a card that is declined" }).click()
  await expect(page.getByRole("alert")).toContainText("Your card was declined.")
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("button", { name: "asks for authentication" }).click()
  await page.getByRole("button", { name: "It is me" }).click()
  await expect(page).toHaveURL(/\?paid=cs_/)

  const session = new URL(page.url()).searchParams.get("paid") ?? ""
  const headers = { authorization: `Bearer ${demoPayments.STRIPE_SECRET_KEY}` }
  const { customer } = await (await fetch(`${standIn()}/v1/checkout/sessions/${session}`, { headers })).json()
  const portal = await call("/v1/billing_portal/sessions", { customer, return_url: `${baseURL}/` })
  await page.goto(portal.url ?? "")
  await page.getByRole("button", { name: "Cancel at the end of the period" }).click()
  await page.getByRole("button", { name: "Resume" }).click()
  await page.getByLabel("New card").selectOption("0341: is declined")
  await page.getByRole("button", { name: "Save" }).click()
  await expect(page.getByText("ending in 0341")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("link", { name: /^Invoice/ }).click()
  await expect(page.getByRole("row", { name: "Total $29.00" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)

  await page.goto(standIn())
  await expect(page.getByRole("heading", { name: "A plan, active" }).first()).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
})
