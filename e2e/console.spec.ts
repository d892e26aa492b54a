import { expect, type Page } from "@playwright/test"
import { demoAccounts, demoKey } from "@/lib/demo-accounts"
import type { Permission, Role } from "@/lib/permissions"
import { keyVariable } from "@/lib/product"
import { expectAccessibleWithoutSidewaysScroll, wide } from "./accessibility"
import { test, uniqueEmail } from "./fixtures"
import { isPresent } from "./pages"

const everyPage: Record<string, { title: string; permission: Permission }> = {
  "/admin": { title: "Overview", permission: "admin.access" },
  "/admin/feedback": { title: "Feedback", permission: "feedback.read" },
  "/admin/users": { title: "Users", permission: "users.read" },
  "/admin/waitlist": { title: "Waitlist", permission: "waitlist.read" },
  "/admin/credits/balances": { title: "Credit balances", permission: "credits.read" },
  "/admin/credits": { title: "Credit ledger", permission: "credits.read" },
  "/admin/orders": { title: "Orders", permission: "billing.read" },
  "/admin/subscriptions": { title: "Subscriptions", permission: "billing.read" },
  "/admin/requests": { title: "API requests", permission: "audit.read" },
  "/admin/usage": { title: "API usage", permission: "audit.read" },
  "/admin/audit": { title: "Audit log", permission: "audit.read" },
  "/admin/emails": { title: "Emails", permission: "email.read" },
  "/admin/api-keys": { title: "Admin keys", permission: "api_keys.manage" },
}

const pages = Object.fromEntries(Object.entries(everyPage).filter(([path]) => isPresent(path)))

const support = ["/admin", "/admin/feedback", "/admin/users", "/admin/waitlist", "/admin/emails"]
const billing = ["/admin/credits/balances", "/admin/credits", "/admin/orders", "/admin/subscriptions"]

const opens: Partial<Record<Role, readonly string[]>> = {
  admin: Object.keys(pages),
  analyst: Object.keys(pages),
  finance: ["/admin", ...billing, "/admin/api-keys"],
  support: support.filter(isPresent),
  bookkeeper: ["/admin/orders", "/admin/subscriptions", "/admin/api-keys"],
  member: [],
}

for (const [role, open] of Object.entries(opens) as [Role, readonly string[]][]) {
  test(`${role} opens and sees in the sidebar only permitted pages; others return 403 and name the permission`, async ({
    page,
    signInAs,
  }) => {
    await signInAs(role)
    const refused = Object.keys(pages).filter((path) => !open.includes(path))
    // The admin opens every page; tests/http/access-matrix.test.ts requests every page for every role.
    const visited = role === "admin" ? open : ["/admin", open.at(-1), refused.at(-1)]
    for (const [path, { title, permission }] of Object.entries(pages).filter(([path]) => visited.includes(path))) {
      const response = await page.goto(path)
      if (open.includes(path)) {
        expect(response?.status(), path).toBe(200)
        await expect(page.getByRole("heading", { level: 1 })).toHaveText(title)
      } else if (path === "/admin" && open[0]) {
        await expect(page).toHaveURL(open[0])
      } else {
        expect(response?.status(), path).toBe(403)
        await expect(page.getByRole("main")).toContainText(
          path === "/admin" ? "no access to any admin page" : permission,
        )
        await expect(page.getByRole("table")).toHaveCount(0)
      }
    }
    const links = page.getByRole("navigation", { name: "Administration" }).getByRole("link")
    const shown = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
    expect(shown).toEqual(open)
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

test("the URL contains filters and dates but no empty ones", async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin/orders")
  await page.getByLabel("Status").selectOption("paid")
  await page.getByLabel("Created since").fill("2026-01-01")
  await page.getByLabel("Order", { exact: true }).selectOption("Oldest first")
  await page.getByRole("button", { name: "Apply" }).click()
  await expect(page).toHaveURL("/admin/orders?status=paid&since=2026-01-01&order=asc")
  await expect(page.getByLabel("Status")).toHaveValue("paid")
  await expect(page.getByLabel("Created since")).toHaveValue("2026-01-01")
  const statuses = await page.getByRole("table").locator("[data-label=Status]").allTextContents()
  expect(new Set(statuses)).toEqual(new Set(["paid"]))
  await page.getByRole("link", { name: "Clear" }).click()
  await expect(page).toHaveURL("/admin/orders")
  await expect(page.getByLabel("Status")).toHaveValue("")
})

test("the sign-in page returns to the requested page with its filters", async ({ page }) => {
  await page.goto("/admin/orders?status=paid&order=asc")
  await expect(page).toHaveURL("/sign-in?callbackUrl=%2Fadmin%2Forders%3Fstatus%3Dpaid%26order%3Dasc")
})

test("the API request on a page returns the rows on screen", async ({ page, signInAs, request, baseURL }) => {
  await signInAs("admin")
  const admin = demoAccounts.find(({ role }) => role === "admin")
  const key = admin ? demoKey(admin) : ""
  for (const path of [
    "/admin/users?role=member&until=2026-06-30",
    "/admin/credits?kind=purchase&limit=20&offset=20",
    `/admin/audit?order=asc&until=${yesterday}`,
    `/admin/waitlist?until=${yesterday}`,
  ].filter((path) => isPresent(new URL(path, String(baseURL)).pathname))) {
    await page.goto(path)
    const curl = await page.getByLabel("Equivalent API request").inputValue()
    const [, url = ""] = new RegExp(`^curl -H "Authorization: Bearer \\$${keyVariable}" "(.+)"$`).exec(curl) ?? []
    const response = await request.get(url, { headers: { Authorization: `Bearer ${key}` } })
    const { data, meta } = await response.json()
    await expect(page.getByRole("rowheader")).toHaveCount(data.length)
    await expect(page.getByRole("navigation", { name: "Paging" })).toContainText(
      ` of ${meta.total.toLocaleString("en")}`,
    )
    const [first] = data
    const name = first.email ?? first.userId ?? first.createdAt
    if (name.includes("@")) await expect(page.getByRole("rowheader").first()).toHaveText(name)
  }
})

test("paging shows every row exactly once and leads back", async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto(`/admin/users?limit=10&order=asc&until=${yesterday}`)
  const seen: string[] = []
  const next = page.getByRole("link", { name: "Next" })
  const total = Number(/of (\d+)/.exec(await paging(page))?.[1])
  for (let from = 1; ; from += 10) {
    await expect(page.getByRole("navigation", { name: "Paging" })).toContainText(new RegExp(`^${from}–`))
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
  return (await page.getByRole("navigation", { name: "Paging" }).textContent()) ?? ""
}

test("an empty result and an invalid parameter are reported on the page", async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto(`/admin/users?email=${uniqueEmail()}`)
  await expect(page.getByText("Nothing matches")).toBeVisible()
  await expect(page.getByLabel("Email")).not.toHaveValue("")
  for (const [query, message] of [
    ["status=gone", 'status must be one of active, banned, closed, got "gone".'],
    ["since=2026-02-30", "since must be"],
    ["limit=501", 'limit must be an integer from 1 to 500, got "501".'],
    ["colour=red", 'Unknown parameter "colour".'],
    ["role=member&role=owner", "role is given more than once."],
    ["since=2026-03-01&until=2026-02-01", "since must not be later than until."],
    ["cursor=x", "cursor must be"],
  ]) {
    await page.goto(`/admin/users?${query}`)
    await expect(page.getByRole("main").getByRole("alert")).toContainText(String(message))
    await expect(page.getByRole("table")).toHaveCount(0)
  }
  await page.getByRole("link", { name: "Show everything" }).click()
  await expect(page.getByRole("table")).toBeVisible()
})

test("an account's row links to the account", async ({ page, signInAs }) => {
  await signInAs("support")
  await page.goto("/admin/users?email=member@example.com")
  await page.getByRole("link", { name: "member@example.com" }).click()
  await expect(page).toHaveURL(/\/admin\/users\/[0-9a-f-]{36}$/)
})

test("the overview shows the numbers of the selected range in charts and in a table", async ({ page, signInAs }) => {
  await signInAs("finance")
  await page.goto("/admin")
  await expect(page.locator("main svg.recharts-surface")).toHaveCount(6)
  await expect(page.getByRole("table").getByRole("rowheader")).toHaveCount(30)
  await page.getByRole("link", { name: "12 months" }).click()
  await expect(page.getByRole("table").getByRole("rowheader")).toHaveCount(12)
  await expect(page.getByRole("link", { name: "12 months" })).toHaveAttribute("aria-current", "true")
  await page.getByLabel("Since", { exact: true }).fill("2026-02-10")
  await page.getByLabel("Until").fill("2026-03-09")
  await page.getByLabel("Interval").selectOption("By week")
  await page.getByRole("button", { name: "Apply" }).click()
  await expect(page).toHaveURL("/admin?since=2026-02-10&until=2026-03-09&interval=week")
  await expect(page.getByRole("rowheader").first()).toHaveText("2026-02-09")
  await expect(page.getByLabel("Equivalent API request")).toHaveValue(/interval=week&order=asc/)
  await page.goto("/admin?since=2026-03-01&until=2026-02-01")
  await expect(page.getByRole("main").getByRole("alert")).toContainText("since must not be later than until")
})

test("only pages with charts load the chart library", async ({ page, signInAs }) => {
  await signInAs("admin")
  const scripts: Promise<string>[] = []
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") scripts.push(response.text().catch(() => ""))
  })
  const loaded = async () => (await Promise.all(scripts)).filter((text) => text.includes("recharts-surface")).length
  await page.goto("/admin/orders", { waitUntil: "networkidle" })
  expect(scripts.length).toBeGreaterThan(0)
  expect(await loaded()).toBe(0)
  await page.goto("/admin", { waitUntil: "networkidle" })
  await expect.poll(loaded).toBeGreaterThan(0)
})

test("a page is requested once, and pages that it links to are not prefetched", async ({ page, signInAs }) => {
  await signInAs("admin")
  const requested: string[] = []
  page.on("request", (request) => {
    if (!request.url().includes("/_next/static/")) requested.push(new URL(request.url()).pathname)
  })
  await page.goto("/admin/orders", { waitUntil: "networkidle" })
  expect(requested).toEqual(["/admin/orders"])
  await page.getByRole("link", { name: "Users" }).hover()
  await page.getByRole("link", { name: "Users" }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Users")
  await page.waitForLoadState("networkidle")
  expect(requested).toEqual(["/admin/orders", "/admin/users"])
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("filters, paging and the overview's numbers work", async ({ page, signInAs }) => {
    await signInAs("admin")
    await page.goto("/admin/orders")
    await page.getByLabel("Status").selectOption("paid")
    await page.getByRole("button", { name: "Apply" }).click()
    await expect(page).toHaveURL("/admin/orders?status=paid")
    await page.getByRole("link", { name: "Next" }).click()
    await expect(page).toHaveURL("/admin/orders?status=paid&offset=50")
    await page.goto("/admin")
    await expect(page.getByRole("table").getByRole("rowheader")).toHaveCount(30)
  })
})

test.describe("in light and dark mode", () => {
  test.use({ viewport: wide })

  test("every console page is accessible and fits narrow screens, also with an empty result or an error", async ({
    page,
    signInAs,
  }) => {
    test.slow()
    await signInAs("admin")
    const lists = Object.keys(pages).filter((path) => !["/admin", "/admin/api-keys"].includes(path))
    for (const path of [
      // Few rows are enough and faster, since axe checks each of them.
      `/admin?since=${yesterday}`,
      "/admin/api-keys",
      ...lists.map((path) => `${path}?limit=5`),
      "/admin/users?status=gone",
      "/admin/users?email=nobody@example.com",
    ]) {
      await page.goto(path)
      await expectAccessibleWithoutSidewaysScroll(page)
    }
  })
})
