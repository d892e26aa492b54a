import { expect, type Page } from "@playwright/test"
import { holds, type Permission } from "@/lib/permissions"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { keyVariable } from "@/lib/product"
import { isPresent, pagesOf } from "@/tests/support/pages"
import { sampled } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll, narrow } from "./accessibility"
import { test, uniqueEmail } from "./fixtures"
import { filterBy, filterWithoutScript } from "./lists"
import { expectSidebar, hydrated } from "./pages"

const pages = pagesOf("administration")

const roles = ["bookkeeper", "member", "admin", "analyst", "finance", "support"] as const
for (const role of sampled(roles, 2)) {
  test(`${role} opens and sees in the sidebar only permitted pages; others return 403 and name the permission`, async ({
    page,
    signInAs,
  }) => {
    await signInAs(role)
    const open = pages.filter(({ access }) => holds(role, access as Permission)).map(({ path }) => path)
    const refused = pages.map(({ path }) => path).filter((path) => !open.includes(path))
    // Other tests cover more: tests/http/access every page for each role in the long form, and every-page.spec.ts.
    const visited = ["/admin", refused.at(-1)]
    for (const { path, title, access } of pages.filter(({ path }) => visited.includes(path))) {
      const response = await page.goto(path)
      if (open.includes(path)) {
        expect(response?.status(), path).toBe(200)
        await expect(page.getByRole("heading", { level: 1 })).toHaveText(title)
      } else if (path === "/admin" && open[0]) {
        await expect(page).toHaveURL(open[0])
      } else {
        expect(response?.status(), path).toBe(403)
        await expect(page.getByRole("main")).toContainText(path === "/admin" ? "no access to any admin page" : access)
        await expect(page.getByRole("table")).toHaveCount(0)
      }
    }
    const links = page.getByRole("navigation", { name: "Administration" }).getByRole("link")
    const shown = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
    expectSidebar(shown, open)
  })
}

/** Limits a list to seeded rows: other tests write rows of today. */
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

test("without users.read, lists show account ids instead of email addresses", async ({ page, signInAs }) => {
  await signInAs("finance")
  await page.goto("/admin/orders")
  await expect(page.getByRole("row").nth(1)).toContainText("…")
  await expect(page.getByRole("table")).not.toContainText("@")
})

test("the URL contains filters and dates, without empty ones", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin/orders")
  await filterBy(page, "Status", "Paid")
  await expect(page).toHaveURL("/admin/orders?status=paid")
  await page.getByRole("button", { name: "Date" }).click()
  await page.getByLabel("Created since").fill("2026-01-01")
  await expect(page).toHaveURL("/admin/orders?since=2026-01-01&status=paid")
  await page.getByRole("columnheader", { name: "Created" }).getByRole("link").click()
  await expect(page).toHaveURL("/admin/orders?since=2026-01-01&status=paid&order=asc")
  await expect(page.getByLabel("Status")).toHaveValue("paid")
  await expect(page.getByLabel("Created since")).toHaveValue("2026-01-01")
  const statuses = await page.getByRole("table").locator("[data-label=Status]").allTextContents()
  expect(new Set(statuses)).toEqual(new Set(["Paid"]))
  await page.getByRole("link", { name: "Clear" }).click()
  await expect(page).toHaveURL("/admin/orders")
  await expect(page.getByLabel("Status")).toHaveValue("")
})

test("the sign-in page returns to the requested page with its filters", { tag: "@long" }, async ({ request }) => {
  const response = await request.get("/admin/orders?status=paid&order=asc", { maxRedirects: 0 })
  expect(response.headers().location).toBe("/sign-in?callbackUrl=%2Fadmin%2Forders%3Fstatus%3Dpaid%26order%3Dasc")
})

test("the API request on a page returns the rows on screen", async ({ page, signInAs, request, baseURL }) => {
  await signInAs("admin")
  const admin = demoAccounts.find(({ role }) => role === "admin")
  const key = admin ? demoKey(admin) : ""
  const paths = [
    "/admin/users?role=member&until=2026-06-30",
    "/admin/credits?kind=purchase&limit=20&offset=20",
    `/admin/audit?order=asc&until=${yesterday}`,
    `/admin/waitlist?until=${yesterday}`,
  ].filter((path) => isPresent(new URL(path, String(baseURL)).pathname))
  for (const path of sampled(paths, 2)) {
    await page.goto(path)
    const curl = await page.getByLabel("Equivalent API request").inputValue()
    const [, url = ""] = new RegExp(`^curl -H "Authorization: Bearer \\$${keyVariable}" "(.+)"$`).exec(curl) ?? []
    const response = await request.get(url, { headers: { Authorization: `Bearer ${key}` } })
    const { data, meta } = await response.json()
    await expect(page.getByRole("rowheader")).toHaveCount(data.length)
    await expect(page.getByRole("navigation", { name: "Pagination" })).toContainText(
      ` of ${meta.total.toLocaleString("en")}`,
    )
    const [first] = data
    const name = first.email ?? first.userId ?? first.createdAt
    if (name.includes("@")) await expect(page.getByRole("rowheader").first()).toContainText(name)
  }
})

test("paging shows every row exactly once and leads back", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto(`/admin/users?limit=10&order=asc&until=${yesterday}`)
  const seen: string[] = []
  const next = page.getByRole("link", { name: "Next" })
  const total = Number(/of (\d+)/.exec(await paging(page))?.[1])
  for (let from = 1; ; from += 10) {
    await expect(page.getByRole("navigation", { name: "Pagination" })).toContainText(new RegExp(`^${from}–`))
    seen.push(...(await page.getByRole("rowheader").allTextContents()))
    if ((await next.count()) === 0) break
    await next.click()
  }
  expect(new Set(seen).size).toBe(total)
  expect(seen.length).toBe(new Set(seen).size)
  await page.getByRole("link", { name: "Previous" }).click()
  await page.getByRole("link", { name: "First" }).click()
  await expect(page).toHaveURL(`/admin/users?limit=10&order=asc&until=${yesterday}`)
  await expect(page.getByRole("rowheader").first()).toHaveText(String(seen[0]))
})

async function paging(page: Page): Promise<string> {
  return (await page.getByRole("navigation", { name: "Pagination" }).textContent()) ?? ""
}

test("an empty result and an invalid parameter are reported on the page", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto(`/admin/users?email=${uniqueEmail()}`)
  await expect(page.getByText("Nothing matches")).toBeVisible()
  await expect(page.getByLabel("Email")).not.toHaveValue("")
  await expectAccessibleWithoutSidewaysScroll(page)
  const cases = [
    ["status=gone", 'status must be one of active, banned, closed, got "gone".'],
    ["since=2026-02-30", "since must be"],
    ["limit=501", 'limit must be an integer from 1 to 500, got "501".'],
    ["colour=red", 'Unknown parameter "colour".'],
    ["role=member&role=owner", "role is given more than once."],
    ["since=2026-03-01&until=2026-02-01", "since must not be later than until."],
    ["cursor=x", "cursor must be"],
  ]
  for (const [query, message] of sampled(cases, 2)) {
    await page.goto(`/admin/users?${query}`)
    await expect(page.getByRole("main").getByRole("alert")).toContainText(String(message))
    await expect(page.getByRole("table")).toHaveCount(0)
  }
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("link", { name: "Clear filters" }).click()
  await expect(page.getByRole("table")).toBeVisible()
})

test("the MRR of the plans adds up to the MRR of each currency", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("finance")
  await page.goto("/admin")
  const chart = page.getByRole("region", { name: "Monthly recurring revenue" })
  await chart.getByText("By plan").click()
  const plans = await chart.getByRole("list", { name: "MRR by plan" }).getByRole("listitem").allTextContents()
  const total = await page.getByRole("definition").first().textContent()
  for (const sign of ["€", "$"]) {
    const amounts = (texts: string) =>
      [...texts.matchAll(/([€$])([\d,]+\.\d\d)/g)].flatMap(([, currency, amount = ""]) =>
        currency === sign ? [Math.round(Number(amount.replaceAll(",", "")) * 100)] : [],
      )
    const sum = amounts(plans.join(" ")).reduce((sum, amount) => sum + amount, 0)
    const [mrr = 0] = amounts(total ?? "")
    expect(sum).toBeGreaterThan(0)
    // Each plan is rounded to a cent.
    expect(Math.abs(sum - mrr)).toBeLessThanOrEqual(plans.length)
  }
  await chart.getByRole("link").first().click()
  await expect(page).toHaveURL(/\/admin\/subscriptions\?planId=/)
})

test("on a phone the presets of the overview are one line, and its dates are folded", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("finance")
  await page.setViewportSize(narrow)
  await page.goto("/admin")
  const tops = await page.getByRole("list", { name: "Range" }).getByRole("link").all()
  const lines = await Promise.all(tops.map(async (link) => (await link.boundingBox())?.y))
  expect(new Set(lines).size).toBe(1)
  const since = page.getByLabel("Since", { exact: true })
  await expect(since).toBeHidden()
  await page.getByText("Custom range").click()
  await expect(since).toBeVisible()
  await page.goto("/admin?since=2026-02-10&until=2026-03-09")
  await expect(since).toHaveValue("2026-02-10")
  await expect(since).toBeVisible()
})

test("the overview shows the numbers of the selected range in charts and in a table", async ({ page, signInAs }) => {
  await signInAs("finance")
  await page.goto("/admin")
  // A chart without any value says so.
  await expect(page.getByRole("slider").or(page.getByText("Nothing in this range"))).toHaveCount(6)
  await page.getByText("Numbers by period").click()
  await expect(page.getByRole("table").getByRole("rowheader")).toHaveCount(13)
  await page.getByRole("link", { name: "12 months" }).click()
  await expect(page.getByRole("table").getByRole("rowheader")).toHaveCount(12)
  await expect(page.getByRole("slider")).toHaveCount(6)
  await expect(page.getByRole("link", { name: "12 months" })).toHaveAttribute("aria-current", "true")
  await page.getByLabel("Since", { exact: true }).fill("2026-02-10")
  await page.getByLabel("Until").fill("2026-03-09")
  await page.getByLabel("Interval").selectOption("By week")
  await expect(page).toHaveURL("/admin?since=2026-02-10&until=2026-03-09&interval=week")
  await expect(page.getByRole("rowheader").first()).toHaveText("9 Feb 2026")
  await expect(page.getByLabel("Equivalent API request")).toHaveValue(/interval=week&order=asc/)
  await page.goto("/admin?since=2026-03-01&until=2026-02-01")
  await expect(page.getByRole("main").getByRole("alert")).toContainText("since must not be later than until")
})

test("the arrow keys read the values of a chart, which equal the table's, and Enter opens the rows of a period", {
  tag: "@long",
}, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin?since=2026-02-01&until=2026-04-30&interval=month")
  const values = page.getByRole("slider", { name: "Sign-ups: values by period" })
  await values.focus()
  await expect(values).toHaveAttribute("aria-valuetext", /^Apr 2026, Sign-ups: \d+ \(before: \d+\)$/)
  await page.keyboard.press("Home")
  const first = await values.getAttribute("aria-valuetext")
  await page.getByText("Numbers by period").click()
  const row = page.getByRole("row", { name: "1 Feb 2026" })
  expect(first).toContain(`Feb 2026, Sign-ups: ${await row.getByRole("cell").first().textContent()} `)
  await values.press("Home")
  await values.press("Enter")
  await expect(page).toHaveURL("/admin/users?since=2026-02-01&until=2026-02-28")
})

test.describe("on a touch screen", () => {
  test.use({ hasTouch: true, viewport: { width: 390, height: 844 } })

  test("a tap shows the values of a period, and a second tap opens its rows", { tag: "@long" }, async ({
    page,
    signInAs,
  }) => {
    await signInAs("admin")
    await page.goto("/admin?since=2026-02-01&until=2026-04-30&interval=month")
    const chart = page.getByRole("region", { name: "Sign-ups" })
    await chart.getByRole("slider").tap()
    const values = chart.getByText(/^Sign-ups: \d+/)
    await expect(values).toBeVisible()
    await chart.getByRole("link").tap()
    await expect(page).toHaveURL("/admin/users?since=2026-03-01&until=2026-03-31")
  })
})

test("a period of a chart opens its rows, and a viewer who may not read them has no such chart", {
  tag: "@long",
}, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin?since=2026-02-01&until=2026-04-30&interval=month")
  const chart = page.getByRole("region", { name: "Net revenue after refunds" })
  await hydrated(page)
  await chart.getByRole("slider").hover()
  await expect(chart).toContainText("Mar 2026")
  await chart.getByRole("link", { name: "Net revenue after refunds: rows of Mar 2026" }).click()
  await expect(page).toHaveURL("/admin/orders?paidSince=2026-03-01&paidUntil=2026-03-31")
  await signInAs("support")
  await page.goto("/admin?since=2026-02-01&until=2026-04-30&interval=month")
  await expect(page.getByRole("region", { name: "Sign-ups" })).toBeVisible()
  await expect(chart).toHaveCount(0)
})

test("a link and a filter show progress until the new page appears", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin")
  const bar = page.locator("[data-pending]")
  let release = () => {}
  const hold = async (url: RegExp) => {
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(url, async (route) => {
      await released
      await route.continue()
    })
  }
  await hold(/\/admin\/users/)
  await page.getByRole("link", { name: "Accounts", exact: true }).click()
  await expect(bar).toBeVisible()
  release()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Accounts")
  await expect(bar).toHaveCount(0)
  await hold(/\/admin\?/)
  await page.goto("/admin")
  await hydrated(page)
  await page.getByLabel("Interval").selectOption("By month")
  await expect(bar).toBeVisible()
  release()
  await expect(page).toHaveURL(/interval=month/)
  await expect(bar).toHaveCount(0)
})

test("a page is requested once, and pages that it links to are not prefetched", async ({ page, signInAs }) => {
  await signInAs("admin")
  const requested: string[] = []
  page.on("request", (request) => {
    if (!request.url().includes("/_next/static/")) requested.push(new URL(request.url()).pathname)
  })
  await page.goto("/admin/orders", { waitUntil: "networkidle" })
  expect(requested).toEqual(["/admin/orders"])
  await page.getByRole("link", { name: "Accounts", exact: true }).hover()
  await page.getByRole("link", { name: "Accounts", exact: true }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Accounts")
  await page.waitForLoadState("networkidle")
  expect(requested).toEqual(["/admin/orders", "/admin/users"])
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("filters, paging and the overview's numbers work", { tag: "@long" }, async ({ page, signInAs }) => {
    await signInAs("admin")
    await page.goto("/admin/orders")
    await filterWithoutScript(page, "Status", "Paid")
    await expect(page).toHaveURL("/admin/orders?status=paid")
    await page.getByRole("link", { name: "Next" }).click()
    await expect(page).toHaveURL("/admin/orders?status=paid&offset=50")
    await page.goto("/admin")
    await page.getByText("Numbers by period").click()
    await expect(page.getByRole("table").getByRole("rowheader")).toHaveCount(13)
  })
})
