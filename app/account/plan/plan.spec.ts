import { expect, type Page } from "@playwright/test"
import { expectAccessibleWithoutSidewaysScroll } from "@/e2e/accessibility"
import { test } from "@/e2e/fixtures"
import { hydrated } from "@/e2e/pages"
import { inCredits } from "@/lib/credits/words"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { scripting } from "@/tests/support/sample"

// Purchases in the browser, at the imitation of the payment provider in scripts/stripe-stand-in.

const [currency] = planCurrencies
const [interval] = planIntervals
const [pack] = creditPacks
type Sold = { id: string; name: string; credits: number }

/** Not planOf of lib/purchases/sold-plans.ts, which needs a database. */
const sold = [...plans]
  .sort((one, other) => one.amount - other.amount)
  .map(({ slug, name, credits }) => ({
    id: `${slug}_${interval}_${currency}`,
    name,
    credits: interval === "year" ? 12 * credits : credits,
  }))
const [low, high] = [sold[0], sold.at(-1)] as [Sold, Sold]

const tile = (page: Page, label: string) =>
  page.locator("main dl > div", { has: page.getByText(label, { exact: true }) })

async function expectBalance(page: Page, credits: number): Promise<void> {
  await expect(tile(page, "Balance")).toContainText(inCredits(credits))
}

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    async function open(page: Page, path = "/account/plan"): Promise<void> {
      await page.goto(path)
      if (javaScriptEnabled) await hydrated(page)
    }

    /** Presses a button of the page, and confirms. */
    async function confirm(page: Page, button: string, title: string, submit: string | RegExp): Promise<void> {
      await open(page)
      await page.getByRole("button", { name: button, exact: true }).click()
      const panel = page.getByRole(javaScriptEnabled ? "dialog" : "region", { name: title, exact: true })
      await panel.getByRole("button", { name: submit }).click()
    }

    const atCheckout = (page: Page) => page.getByRole("button", { name: "Pay", exact: true })

    test("a pack is declined, left and bought, and the balance has risen on the return", async ({ page, signUp }) => {
      await signUp({ credits: 5 })
      await open(page)
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      const buy = page.getByRole("button", { name: `Buy ${inCredits(pack.credits)}` })
      await buy.click()
      await page.getByRole("button", { name: "Pay with a card that is declined" }).click()
      await expect(atCheckout(page)).toBeVisible()
      await page.getByRole("link", { name: "Leave without paying" }).click()
      await expectBalance(page, 5)
      if (javaScriptEnabled) await hydrated(page)
      await buy.click()
      await atCheckout(page).click()
      await expect(page.getByRole("status").first()).toContainText("Your payment has arrived")
      await expectBalance(page, 5 + pack.credits)
      await page.reload()
      await expectBalance(page, 5 + pack.credits)
      await expect(page.getByRole("button", { name: "Invoices, receipts and cards" })).toBeVisible()
      await page.goto("/account/orders")
      await expect(page.getByRole("main")).toContainText(inCredits(pack.credits))
    })

    test("a plan is chosen by a visitor, bought, changed up and down, canceled and resumed", async ({
      page,
      signUp,
    }) => {
      await page.goto(`/pricing?interval=${interval}&currency=${currency}`)
      const choice = `/account/plan?plan=${low.id}`
      await expect(page.getByRole("link", { name: `Subscribe to ${low.name}` })).toHaveAttribute(
        "href",
        `/sign-up?callbackUrl=${encodeURIComponent(choice)}`,
      )
      await signUp({ credits: 0 })
      await open(page, choice)
      await page
        .getByRole("region", { name: `Subscribe to ${low.name}?` })
        .getByRole("button", { name: "Continue to payment" })
        .click()
      await expect(atCheckout(page)).toBeVisible()
      // A checkout for another plan has to wait until this one is closed.
      await open(page)
      await expect(page.getByRole("main")).toContainText(`A checkout for ${low.name} is open.`)
      await page.getByRole("link", { name: "Continue it" }).click()
      await atCheckout(page).click()
      await expectBalance(page, low.credits)
      await expect(tile(page, "Plan")).toContainText(`${low.name} Active`)

      if (low.id !== high.id) {
        await confirm(page, `Change to ${high.name}`, `Change to ${high.name}?`, "Pay and change")
        await expect(page.getByText(`Your plan is now ${high.name}.`)).toBeVisible()
        await open(page)
        await expect(tile(page, "Plan")).toContainText(`${high.name} Active`)
        // Of the new plan, less the unused time of the old one, which has just started.
        await expectBalance(page, high.credits)
        await confirm(page, `Change to ${low.name}`, `Change to ${low.name}?`, /^Change on /)
        await expect(page.getByText(`Your plan changes to ${low.name} on`)).toBeVisible()
        await open(page)
        await expect(tile(page, "Next plan")).toContainText(low.name)
        if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
        await confirm(page, `Keep ${high.name}`, "Keep your plan?", "Keep plan")
        await expect(page.getByText("Your plan continues.")).toBeVisible()
      }
      await confirm(page, "Cancel plan", `Cancel ${high.name}?`, /^End plan on /)
      await expect(page.getByText("Your plan ends on")).toBeVisible()
      await open(page)
      await expect(tile(page, "Plan")).toContainText("Cancels on")
      await expect(page.getByText("Resume it first.")).toBeVisible()
      await confirm(page, "Resume plan", "Keep your plan?", "Keep plan")
      await expect(page.getByText("Your plan continues.")).toBeVisible()
      await open(page)
      await expect(tile(page, "Plan")).toContainText("Renews")
      await page.getByRole("button", { name: "Invoices, receipts and cards" }).click()
      await expect(page.getByRole("link", { name: /^Invoice / }).first()).toBeVisible()
    })
  })
}

test("another account's checkout and one that does not exist are refused", async ({ page, signUp }) => {
  await signUp({ credits: 5 })
  await page.goto("/account/plan?checkout=pi_of_another")
  await expect(page.getByRole("status").first()).toContainText("does not belong to your account")
  await page.goto("/account/plan?checkout=cs_nothing")
  await expect(page.getByRole("status").first()).toContainText("not paid")
  await expectBalance(page, 5)
})
