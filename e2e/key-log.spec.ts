import { expect, type Page } from "@playwright/test"
import { startOf } from "@/lib/keys/secret"
import { expectAccessibleWithoutSidewaysScroll, narrow, wide } from "./accessibility"
import { test, uniqueName } from "./fixtures"
import { createKey, row, saved } from "./key-page"
import { filterWithoutScript } from "./lists"

// The page and the report of a key. The seed has a month of requests with the demo's keys. One of them leaked.

const leaked = "Nightly export"
const outsider = "192.0.2.166"

async function openKey(page: Page, list: string, name: string): Promise<void> {
  await page.goto(list)
  await page.getByRole("link", { name, exact: true }).click()
  await expect(page.getByRole("heading", { level: 1 })).toContainText(name)
}

/** A table of the page, with the cells of its rows. */
function cells(page: Page, table: string) {
  return page.getByRole("table", { name: table }).getByRole("row")
}

test("a key's page shows its properties, failures and requests, and filters the requests", async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  await openKey(page, "/api-keys", "Office server")
  const main = page.getByRole("main")
  await expect(main.getByRole("definition").filter({ hasText: "203.0.113.0/24, 2001:db8::/32" })).toBeVisible()
  await expect(page.getByRole("slider")).toHaveCount(1)
  await expect(cells(page, "Recent failures").filter({ hasText: "address_not_allowed" })).toContainText(
    "198.51.100.143",
  )
  await expect(cells(page, "Recent failures").filter({ hasText: "429 rate_limited" })).toContainText("24")
  await expect(cells(page, "IP addresses").filter({ hasText: "2001:db8:4:17::/64" })).toHaveCount(1)

  await page.getByRole("link", { name: "48 hours" }).click()
  await expect(page.getByRole("link", { name: "48 hours" })).toHaveAttribute("aria-current", "true")
  await expect(main).toContainText("Requests by hour (UTC)")

  const failure = cells(page, "Recent failures").filter({ hasText: "429 rate_limited" })
  await expect(failure.getByRole("link", { name: "/api/v1/me/orders" })).toHaveAttribute(
    "href",
    /^\/account\/requests\/[0-9a-f-]{36}$/,
  )
  await failure.getByRole("link", { name: "24 of these requests" }).click()
  await expect(page).toHaveURL(/\?status=429&route=%2Fapi%2Fv1%2Fme%2Forders$/)
  await expect(page.getByLabel("Status")).toHaveValue("429")
  await expect(page.getByRole("navigation", { name: "Pagination" })).toContainText("of 24 rows")
  await expect(page.getByLabel("Equivalent API request")).toHaveValue(/\/me\/requests\?status=429&route=.*&keyId=/)
})

test.describe("with a clock", () => {
  test.use({ ownContext: true })

  test("a new request appears without a reload, until updates are paused by keyboard", async ({
    page,
    signUp,
    request,
  }) => {
    await page.clock.install()
    await signUp()
    await page.goto("/api-keys")
    const name = uniqueName("Watched")
    const key = await createKey(page, name)
    await saved(page)
    let loads = 0
    page.on("load", () => loads++)
    await page.getByRole("link", { name, exact: true }).click()
    await expect(page.getByText("No requests yet")).toBeVisible()
    await expect(page.getByLabel("First request")).toHaveValue(
      /^curl ".*\/api\/v1\/me\/key" \\\n {2}-H "Authorization: Bearer \$/,
    )
    const failures = cells(page, "Recent failures")
    const shown = async () => {
      await page.clock.runFor("00:05")
      return failures.allTextContents()
    }
    await request.get("/api/v1/me/orders?limit=0", { headers: { Authorization: `Bearer ${key}` } })
    await expect.poll(shown).toEqual([expect.stringContaining("Status"), expect.stringContaining("400 bad_request")])
    await expect(cells(page, "Recent requests").filter({ hasText: "GET /api/v1/me/orders?limit" })).toHaveCount(1)
    await expect(page.getByRole("status").filter({ hasText: "1 new request" })).toBeVisible()

    await page.getByRole("button", { name: "Pause" }).focus()
    await page.keyboard.press("Enter")
    await expect(page.getByText("Updates are paused.")).toBeVisible()
    await expect(page.getByRole("button", { name: "Resume" })).toBeFocused()
    const asked: string[] = []
    page.on("request", (sent) => sent.url().endsWith("/count") && asked.push(sent.url()))
    await page.clock.runFor("01:00")
    expect(asked).toEqual([])
    expect(loads).toBe(0)
  })

  test("a page polls for new requests only while it is visible, and stops after a while", { tag: "@long" }, async ({
    page,
    signInAs,
  }) => {
    await page.clock.install()
    await signInAs("member")
    await openKey(page, "/api-keys", "Dashboard")
    let asked = 0
    await page.route("**/count", (route) => {
      asked++
      return route.fulfill({ json: { requests: 0 } })
    })
    const show = (hidden: boolean) =>
      page.evaluate(
        (hidden) => Object.defineProperty(document, "hidden", { value: hidden, configurable: true }),
        hidden,
      )
    await show(true)
    await page.clock.runFor("01:00")
    expect(asked).toBe(0)
    await show(false)
    await page.clock.runFor("00:30")
    await expect.poll(() => asked).toBeGreaterThan(3)
    await page.clock.runFor("20:00")
    await expect(page.getByText("Updates are paused.")).toBeVisible()
    expect(asked).toBeLessThanOrEqual(120)
  })
})

test("the report of a leaked key shows the data it read, the addresses, and since when the report is complete", async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/admin/api-keys?show=all")
  await expect(row(page, leaked)).toContainText("It leaked")
  await row(page, leaked).getByRole("link", { name: "What it read" }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`What “${leaked}” did`)
  await expect(page.getByRole("main")).toContainText(
    /Complete from .* UTC to .* UTC\. It starts when the key was created\./,
  )
  await expect(cells(page, "What it read").filter({ hasText: "/api/v1/admin/users" })).toContainText(
    "Lists all accounts",
  )
  // The newest address is the first.
  await expect(cells(page, "IP addresses").nth(1)).toContainText(outsider)
  await expect(cells(page, "IP addresses").nth(2)).toContainText("198.51.100.24")
  const copied = cells(page, "Endpoints by IP address").filter({ hasText: outsider })
  for (const name of ["users", "orders", "emails"]) {
    await expect(copied.filter({ hasText: `/api/v1/admin/${name}` })).toHaveCount(1)
  }

  const json = await page.request.get(await hrefOf(page, "JSON"))
  expect(json.headers()["content-disposition"]).toMatch(/^attachment; filename="key-report-.*\.json"$/)
  const report = await json.json()
  expect(report).toMatchObject({
    key: { name: leaked, revocationReason: "leaked" },
    isSinceCreation: true,
    unlogged: 0,
  })
  expect(report.addresses.map(({ address }: { address: string }) => address)).toEqual([outsider, "198.51.100.24"])
  const csv = await page.request.get(await hrefOf(page, "CSV"))
  expect(csv.headers()["content-type"]).toBe("text/csv; charset=utf-8")
  expect((await csv.text()).split("\r\n")).toHaveLength(report.entries.length + 2)

  await page.emulateMedia({ media: "print" })
  await expect(page.locator("#sidebar")).toBeHidden()
})

async function hrefOf(page: Page, name: string): Promise<string> {
  return String(await page.getByRole("link", { name, exact: true }).getAttribute("href"))
}

test("a printed report has no navigation, dark text, and tables on narrow paper", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await openKey(page, "/admin/api-keys?show=all", leaked)
  await page.getByRole("link", { name: "See what it read, and from where" }).click()
  await expect(page.getByRole("button", { name: "Print" })).toBeVisible()
  await page.emulateMedia({ media: "print", colorScheme: "dark" })
  await page.setViewportSize({ ...narrow, width: 720 })
  await expect(page.locator("#sidebar")).toBeHidden()
  for (const name of ["Menu", "Print"]) await expect(page.getByRole("button", { name })).toBeHidden()
  await expect(page.getByRole("table").first()).toHaveCSS("display", "table")
  await expect(page.getByRole("columnheader").first()).toHaveCSS("display", "table-cell")
  const label = page.getByRole("cell").first()
  expect(await label.evaluate((cell) => getComputedStyle(cell, "::before").content)).toBe("none")
  const color = () => page.locator("body").evaluate((body) => getComputedStyle(body).color)
  const printed = await color()
  await page.emulateMedia({ media: "screen", colorScheme: "dark" })
  expect(await color()).not.toBe(printed)
  await page.emulateMedia({ media: "print", colorScheme: "light" })
  expect(await color()).toBe(printed)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(720)
  // Paper in landscape is as wide as a window with a sidebar.
  await page.setViewportSize({ ...narrow, width: 1040 })
  expect((await page.getByRole("main").boundingBox())?.width).toBe(1040)
})

test("after a revocation as leaked, a link opens the report", { tag: "@long" }, async ({ page, signUp, request }) => {
  await signUp()
  await page.goto("/api-keys")
  const name = uniqueName("Leaky")
  const key = await createKey(page, name)
  await saved(page)
  await request.get("/api/v1/me", { headers: { Authorization: `Bearer ${key}` } })
  await row(page, name).getByRole("button", { name: "Revoke" }).click()
  await page.getByLabel("Reason").selectOption("It leaked")
  await page.getByRole("button", { name: "Revoke key" }).click()
  await page.getByRole("status").getByRole("link", { name: "See what it read." }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`What “${name}” did`)
  await expect(page.getByRole("main")).toContainText(`${startOf(key)}…`)
})

test("staff open a customer's key from the account; they see no allowed addresses and cannot change it", {
  tag: "@long",
}, async ({ page, signInAs }) => {
  await signInAs("analyst")
  await page.goto("/admin/users?email=member@example.com")
  await page.getByRole("link", { name: "Mia Member", exact: true }).click()
  await page.getByRole("link", { name: "Office server", exact: true }).click()
  await expect(page).toHaveURL(/\/admin\/api-keys\/[0-9a-f-]{36}$/)
  await expect(page.getByRole("main")).toContainText("2 addresses")
  await expect(page.getByRole("main")).not.toContainText("203.0.113.0/24")
  await expect(page.getByRole("link", { name: "Revoke" })).toHaveCount(0)
  await page.getByRole("link", { name: "← member@example.com" }).click()
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Mia Member")
})

test("without the permission for the log, the names of a customer's keys are not links", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("support")
  await page.goto("/admin/users?email=member@example.com")
  await page.getByRole("link", { name: "Mia Member", exact: true }).click()
  await expect(row(page, "Office server")).toBeVisible()
  await expect(page.getByRole("link", { name: "Office server" })).toHaveCount(0)
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("a key's page, its filters and its report work", { tag: "@long" }, async ({ page, signInAs }) => {
    await signInAs("member")
    await openKey(page, "/api-keys", "Dashboard")
    await filterWithoutScript(page, "Status", "403")
    await expect(page).toHaveURL(/\?status=403$/)
    await expect(cells(page, "Recent requests")).toHaveCount(4)
    await expect(page.getByRole("button", { name: "Pause" })).toHaveCount(0)
    await page.getByRole("link", { name: "Report", exact: true }).click()
    await expect(cells(page, "What it read").filter({ hasText: "/api/v1/me/orders" })).toHaveCount(1)
    await expect(page.getByRole("main")).toContainText("It starts with the log, and the key is older.")
  })
})

test.describe("in light and dark mode", () => {
  test.use({ viewport: wide })

  test("the pages of an unused and of a missing key are accessible and fit narrow screens", { tag: "@long" }, async ({
    page,
    signInAs,
  }) => {
    await signInAs("finance")
    await openKey(page, "/admin/api-keys", "Demo")
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.goto("/admin/api-keys/00000000-0000-7000-8000-000000000000")
    await expect(page.getByRole("heading", { name: "Key not found" })).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
  })
})
