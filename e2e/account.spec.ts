import { randomUUID } from "node:crypto"
import { type APIRequestContext, expect, type Locator, type Page } from "@playwright/test"
import type { Client } from "pg"
import sharp from "sharp"
import { inCredits } from "@/lib/credits/words"
import { plainDate } from "@/lib/platform/text/format-time"
import { money } from "@/lib/platform/text/money"
import { capitalized, inWords } from "@/lib/platform/text/words"
import { keyVariable, plans, product } from "@/lib/product"
import { isPresent } from "@/tests/support/pages"
import { sampled, scripting } from "@/tests/support/sample"
import { work } from "@/tests/support/work"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { keyOf, test, uniqueName } from "./fixtures"
import { createKey, openRun, outcome, saved } from "./key-page"
import { filterBy, filterWithoutScript, openFilters } from "./lists"

const sells = isPresent("/account/plan")

type Rows = { data: Record<string, unknown>[]; meta: { total: number; balance: number; held: number } }

/** The response of the user API to the demo account with the role member. */
async function callApi<Body = Rows>(request: APIRequestContext, url: string): Promise<Body> {
  const response = await request.get(url, { headers: { Authorization: `Bearer ${keyOf("member")}` } })
  expect(response.status()).toBe(200)
  return response.json()
}

async function adjustBalance(database: Client, userId: string, amount: number): Promise<void> {
  await database.query(
    `WITH account AS (
       UPDATE credit_accounts SET balance = balance + $2, seq = seq + 1 WHERE user_id = $1 RETURNING balance, seq)
     INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, reason)
     SELECT gen_random_uuid(), $1, seq, 'adjustment', $2, balance, 'For a test' FROM account`,
    [userId, amount],
  )
}

function fact(page: Page, label: string): Locator {
  return page
    .getByRole("main")
    .locator("div", { has: page.locator(`dt:text-is("${label}")`) })
    .last()
    .locator("dd")
    .first()
}

async function curlUrl(page: Page): Promise<string> {
  const curl = await page.getByLabel("Equivalent API request").inputValue()
  const [, url] = new RegExp(`^curl -H "Authorization: Bearer \\$${keyVariable}" "(.+)"$`).exec(curl) ?? []
  expect(url, curl).toBeDefined()
  return String(url)
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
}

test("the account page shows the balance, plan, price, renewal, requests and latest order that the API returns", async ({
  page,
  signInAs,
  request,
}) => {
  await signInAs("member")
  await page.goto("/account")
  await expect(page.getByRole("main")).toContainText("member@example.com")
  type Subscription = { data: { amount: number; currency: string; currentPeriodEnd: string } }
  const { data: subscription } = await callApi<Subscription>(request, "/api/v1/me/subscription")
  const { data: orders } = await callApi(request, "/api/v1/me/orders?limit=1")
  const plan = page.locator("dl > div", { has: page.getByText("Plan", { exact: true }) })
  const price = money(subscription.amount, subscription.currency, { trailingZeroDisplay: "stripIfInteger" })
  await expect(plan).toContainText(`${price} and `)
  await expect(plan).toContainText(plainDate(new Date(subscription.currentPeriodEnd)))
  await expect(page.getByRole("region", { name: "Latest order" })).toContainText(String(orders[0]?.description))
  // Tests of other pages run concurrently, spend this account's credits and send requests with its keys.
  await expect(async () => {
    await page.reload()
    const { meta } = await callApi(request, "/api/v1/me/credits?limit=1")
    expect(await fact(page, "Balance").textContent()).toBe(inCredits(meta.balance))
    const { data } = await callApi(request, "/api/v1/me/requests?limit=6")
    const shown = await page
      .getByRole("region", { name: "Recent requests" })
      .locator("code > span:first-of-type")
      .allTextContents()
    expect(shown).toHaveLength(5)
    expect(data.map(({ method, route }) => `${method} ${route}`)).toEqual(expect.arrayContaining(shown))
  }).toPass()
  await expect(page.getByRole("region", { name: "Next steps" })).toHaveCount(0)
  const pace = page.getByText(/left at the pace of the last 7 days$/)
  await expect(pace).toBeVisible()
  await page.goto("/account/credits")
  await expect(pace).toBeVisible()
  await page.goBack()
  await page.getByRole("link", { name: "All keys" }).click()
  await expect(page).toHaveURL("/api-keys")
  await page.goBack()
  await page.getByRole("link", { name: "All orders" }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Your orders")
})

test("a subscription shows its status and whether it renews or ends", { tag: "@long" }, async ({
  page,
  database,
  signUp,
}) => {
  const { id: userId } = await signUp({ credits: 0 })
  const end = new Date(Date.now() + 10 * 86_400_000)
  const [planned] = plans
  await database.query(
    `INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, current_period_start, current_period_end)
     SELECT gen_random_uuid(), $1, id, 'trialing', 1234, currency, interval, now(), $2 FROM plans WHERE id = $3`,
    [userId, end, `${planned.slug}_month_usd`],
  )
  for (const [status, ends, label] of [
    ["trialing", false, "Trial ends"],
    ["active", false, "Renews"],
    ["active", true, "Cancels on"],
    ["past_due", false, "Period ends"],
  ] as const) {
    await database.query(
      "UPDATE subscriptions SET status = $2::subscription_status, cancel_at_period_end = $3 WHERE user_id = $1",
      [userId, status, ends],
    )
    await page.goto("/account")
    const plan = page.locator("dl > div", { has: page.getByText("Plan", { exact: true }) })
    await expect(plan).toContainText(`${planned.name} ${inWords(status)}`)
    await expect(plan).toContainText(`$12.34 and ${inCredits(planned.credits)} per month`)
    await expect(plan).toContainText(`${label} ${plainDate(end)}`)
    await expect(page.getByText("A payment is overdue.")).toHaveCount(status === "past_due" ? 1 : 0)
  }
})

test("a new account has welcome credits, and each empty page names the next step", { tag: "@long" }, async ({
  page,
  signUp,
}) => {
  await signUp()
  await page.goto("/account")
  await expectAccessibleWithoutSidewaysScroll(page)
  await expect(fact(page, "Plan")).toHaveText("None")
  const next = page.getByRole("main")
  await expect(
    sells
      ? next.getByRole("link", { name: "Choose a plan" })
      : next.getByText(`Contact ${product.supportEmail} to subscribe.`),
  ).toBeVisible()
  await expect(fact(page, "Balance")).toHaveText("100 credits")
  await expect(page.getByText("left at the pace")).toHaveCount(0)
  // Empty lists are left out: one button leads on.
  for (const region of ["Recent requests", "Usage by key this month", "Latest order"]) {
    await expect(page.getByRole("region", { name: region })).toHaveCount(0)
  }
  await page.goto("/account/orders")
  await expect(page.getByText("No orders yet")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page
    .getByRole("main")
    .getByRole("link", { name: sells ? "Add credits" : "balance" })
    .click()
  await expect(page).toHaveURL(sells ? "/account/plan" : "/account/credits")
  await page.goto("/account/credits")
  const ledger = page.getByRole("table", { name: "Ledger" })
  await expect(ledger.getByRole("row")).toHaveCount(2)
  await expect(ledger.getByRole("row").nth(1)).toHaveText(
    /^\d+ \w{3} \d{4} \d\d:\d\d:\d\d UTCGrantWelcome credits\+100100$/,
  )
  await expect(page.getByRole("slider")).toHaveCount(1)
  await expect(page.getByText("Nothing in this range")).toBeVisible()
})

test("the next steps of a new account are checked one by one, and gone after its first call", { tag: "@long" }, async ({
  page,
  signUp,
  request,
}) => {
  await signUp()
  await page.goto("/account")
  const steps = page.getByRole("region", { name: "Next steps" })
  await expect(steps.getByRole("listitem")).toHaveText([
    "Confirm your email address (done)",
    "Create an API key",
    "Make your first API call",
  ])
  await steps.getByRole("link", { name: "Create an API key" }).click()
  await expect(page).toHaveURL("/api-keys?new")
  await expect(page.getByLabel("Name")).toBeFocused()
  await expect(page.getByText("No keys yet")).toHaveCount(0)
  await page.goto("/api-keys")
  await expect(page.getByText("No keys yet")).toBeVisible()
  await expect(page.getByRole("link", { name: "Create your first key" })).toHaveAttribute("href", "/api-keys?new")
  const key = await createKey(page, uniqueName("First"))
  await saved(page)
  await page.goto("/account")
  await expect(steps.getByRole("listitem")).toContainText(["(done)", "(done)", "Make your first API call"])
  await expect(steps.getByRole("figure")).toContainText(`"Authorization: Bearer $${keyVariable}"`)
  await expectAccessibleWithoutSidewaysScroll(page)
  const response = await request.get("/api/v1/me", { headers: { Authorization: `Bearer ${key}` } })
  expect(response.status()).toBe(200)
  await expect(async () => {
    await page.reload()
    await expect(page.getByRole("region", { name: "Recent requests" })).toContainText("GET /api/v1/me", {
      timeout: 500,
    })
    await expect(steps).toHaveCount(0, { timeout: 500 })
  }).toPass()
})

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a new name is shown everywhere at once, and an invalid name is reported at its field", async ({
      page,
      signUp,
    }) => {
      await signUp({ credits: 0 })
      await page.goto("/account/settings")
      const name = page.getByLabel("Name", { exact: true })
      await expect(name).toHaveValue("Nova Newcomer")
      await name.fill("Nell\u0007Newest")
      await page.getByRole("button", { name: "Change name" }).click()
      await expect(name).toHaveAccessibleDescription(/without control characters/)
      const renamed = uniqueName("Nell")
      await name.fill(renamed)
      await page.getByRole("button", { name: "Change name" }).click()
      await expect(page.getByText("Your name was changed")).toBeVisible()
      // A typo can be corrected.
      if (javaScriptEnabled) await expect(name).toHaveValue(renamed)
      await expect(page.getByRole("main").getByText(renamed, { exact: true })).toBeVisible()
      await page.getByRole("button", { name: /^Account menu/ }).click()
      await expect(page.locator("#account").getByText(renamed, { exact: true })).toBeVisible()
    })

    test("a chosen theme holds in this browser against the system's preference, and System follows that again", {
      tag: "@long",
    }, async ({ page, signInAs }) => {
      await page.emulateMedia({ colorScheme: "light" })
      await signInAs("member")
      await page.goto("/account/settings")
      const isDark = async () => {
        const red = await page.locator("html").evaluate((html) => {
          const canvas = document.createElement("canvas").getContext("2d")
          if (!canvas) return Number.NaN
          canvas.fillStyle = getComputedStyle(html).backgroundColor
          canvas.fillRect(0, 0, 1, 1)
          return canvas.getImageData(0, 0, 1, 1).data[0] ?? Number.NaN
        })
        return red < 128
      }
      const choose = async (theme: string) => {
        await page.getByRole("button", { name: theme, exact: true }).click()
        await expect(page.getByRole("button", { name: theme, exact: true })).toHaveAttribute("aria-pressed", "true")
      }
      expect(await isDark()).toBe(false)
      await choose("Dark")
      expect(await isDark()).toBe(true)
      // The server writes it into the page, so that no other color is seen first.
      expect(await (await page.request.get("/account")).text()).toMatch(/<html[^>]* data-theme="dark"/)
      await page.emulateMedia({ media: "print" })
      expect(await isDark()).toBe(false)
      await page.emulateMedia({ media: "screen", colorScheme: "dark" })
      await choose("Light")
      expect(await isDark()).toBe(false)
      await choose("System")
      expect(await isDark()).toBe(true)
    })
  })
}

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a picture replaces the initials in the same place everywhere, and a file that is not a picture is reported at its field", async ({
      page,
      database,
      signUp,
    }) => {
      const { id } = await signUp({ credits: 0 })
      await page.goto("/account/settings")
      const main = page.getByRole("main")
      const initials = await main.getByText("NN", { exact: true }).boundingBox()
      const field = page.getByLabel("Picture", { exact: true })
      const save = async (name: string, mimeType: string, buffer: Buffer) => {
        await field.setInputFiles({ name, mimeType, buffer })
        await page.getByRole("button", { name: "Save picture" }).click()
      }
      await save("me.png", "image/png", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"))
      await expect(field).toHaveAccessibleDescription(/^This file is not a picture.*PNG, JPEG or WebP/)
      if (javaScriptEnabled) await expect(field).toBeFocused()
      else {
        await save("me.png", "image/png", Buffer.alloc(6 * 1024 * 1024))
        await expect(field).toHaveAccessibleDescription(/^This file is too large/)
      }
      const create = { width: 900, height: 400, channels: 3, background: "#336699" } as const
      await save("me.jpg", "image/jpeg", await sharp({ create }).jpeg().toBuffer())
      await expect(page.getByText("Your picture was saved")).toBeVisible()
      const picture = main.locator("img")
      await expect(picture).toHaveJSProperty("naturalWidth", 128)
      expect(await picture.boundingBox()).toEqual(initials)
      await expect(page.getByRole("button", { name: /^Account menu/ }).locator("img")).toHaveCount(1)
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)

      await page.getByRole("button", { name: "Remove picture" }).click()
      await expect(main.getByText("NN", { exact: true })).toBeVisible()
      await expect(page.locator("img")).toHaveCount(0)
      expect((await database.query("SELECT FROM user_pictures WHERE user_id = $1", [id])).rowCount).toBe(0)
    })
  })
}

test("an empty ledger explains where credits come from and how they are spent", { tag: "@long" }, async ({
  page,
  signUp,
}) => {
  await signUp({ credits: 0 })
  await page.goto("/account/credits")
  await expect(page.getByText("No entries yet")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page
    .getByRole("link", { name: sells ? "Add credits" : "How to add credits" })
    .last()
    .click()
  await expect(page).toHaveURL(sells ? "/account/plan" : "/docs#credits")
})

test("a table lists the days of the charts, and the heading shows their sum", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  await page.goto("/account/credits")
  await page.getByText("The last 30 days in numbers").click()
  const days = page.getByRole("table", { name: "The last 30 days" })
  await expect(days.getByRole("rowheader")).toHaveCount(30)
  await expect(days.getByRole("rowheader").first()).toHaveText(plainDate(new Date()))
  const numbers = (await days.locator("[data-label=Spent]").allTextContents()).map((text) =>
    Number(text.replaceAll(",", "")),
  )
  const sum = numbers.reduce((total, number) => total + number, 0)
  await expect(
    page.getByRole("heading", { name: `Spent in the last 30 days: ${sum.toLocaleString("en")} credits` }),
  ).toBeVisible()
  expect(sum).toBeGreaterThan(0)
  const balance = await fact(page, "Balance").textContent()
  await expect(days.locator("[data-label=Balance]").first()).toHaveText(String(balance).replace(" credits", ""))
})

test("the API request on a page returns the rows on screen", { tag: "@long" }, async ({ page, signInAs, request }) => {
  await signInAs("member")
  const paths = [
    "/account/orders?order=asc&limit=3&offset=1",
    `/account/credits/entries?kind=reserve&limit=7&offset=3&until=${daysAgo(1)}`,
    "/account/orders",
    `/account/credits/entries?until=${daysAgo(1)}`,
  ]
  for (const path of sampled(paths, 2)) {
    await page.goto(path)
    const { data, meta } = await callApi(request, await curlUrl(page))
    expect(data.length).toBeGreaterThan(0)
    await expect(page.getByRole("table").last().getByRole("rowheader")).toHaveText(
      data.map(({ seq, description }) => (seq === undefined ? String(description) : Number(seq).toLocaleString("en"))),
    )
    await expect(page.getByRole("navigation", { name: "Pagination" })).toContainText(
      ` of ${meta.total.toLocaleString("en")}`,
    )
  }
})

test("the URL contains filters as the API accepts them, without empty ones", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  await page.goto("/account/credits/entries")
  await filterBy(page, "Type", "purchase")
  await expect(page).toHaveURL("/account/credits/entries?kind=purchase")
  await page.getByRole("button", { name: "Date" }).click()
  await page.getByLabel("Created since").fill("2026-01-01")
  await expect(page).toHaveURL("/account/credits/entries?since=2026-01-01&kind=purchase")
  await page.getByRole("columnheader", { name: "Time (UTC)" }).getByRole("link").click()
  await expect(page).toHaveURL("/account/credits/entries?since=2026-01-01&kind=purchase&order=asc")
  const kinds = await page.getByRole("table").locator("[data-label=Type]").allTextContents()
  expect(new Set(kinds)).toEqual(new Set(["Purchase"]))
  await page.getByRole("link", { name: "Clear" }).click()
  await expect(page).toHaveURL("/account/credits/entries")
})

test("a run is one line with its cost, and links to its entries, its times and its key", async ({
  page,
  signInAs,
  request,
}) => {
  await signInAs("member")
  await page.goto(`/account/credits?until=${daysAgo(1)}`)
  const line = page.getByRole("row").filter({ hasText: "Trial project" }).first()
  const cost = Number((await line.locator("[data-label=Amount]").textContent())?.replace("−", ""))
  const link = line.getByRole("link", { name: "Run", exact: true })
  const runId = await link.getAttribute("title")
  await expect(line.getByRole("rowheader")).toHaveText(/^\d+ \w{3} \d{4} \d\d:\d\d:\d\d UTC$/)
  const { data: entries } = await callApi(request, `/api/v1/me/credits?runId=${runId}`)
  expect(entries.reduce((sum, { amount }) => sum - Number(amount), 0)).toBe(cost)
  await line.click()
  await expect(page).toHaveURL(`/account/credits/entries?runId=${runId}`)
  // The URL of a page that once listed single entries.
  await page.goto(`/account/credits?runId=${runId}`)
  await expect(page).toHaveURL(`/account/credits/entries?runId=${runId}`)
  await expect(page.getByLabel("Run ID")).toHaveValue(String(runId))
  await expect(page.getByRole("table").locator("[data-label=Type]")).toHaveText(
    entries.map(({ kind }) => capitalized(String(kind))),
  )
  await expect(fact(page, "Cost")).toHaveText(`${cost} of at most ${inCredits(work.maxCost)}`)
  await expect(fact(page, "Started")).toHaveText(/UTC$/)
  await expect(fact(page, "Key").getByRole("link")).toHaveAttribute("href", /^\/api-keys\/[0-9a-f-]{36}$/)
})

test("the requests with all keys are in one list: failures have a reason, and a row opens its request", {
  tag: "@long",
}, async ({ page, database, request, signUp }) => {
  const { id: userId } = await signUp({ credits: 0 })
  await page.goto("/api-keys")
  const name = uniqueName("Logged")
  const headers = { Authorization: `Bearer ${await createKey(page, name)}` }
  await saved(page)
  expect((await request.get("/api/v1/me", { headers })).status()).toBe(200)
  expect((await request.get("/api/v1/me/orders?nothing=1", { headers })).status()).toBe(400)
  await database.query("UPDATE api_keys SET revoked_at = now() WHERE user_id = $1", [userId])
  const rows = page.getByRole("table", { name: "Requests" }).locator("tbody tr")
  await expect(async () => {
    await page.goto("/account/requests")
    expect(await rows.count()).toBe(2)
    // Rows and choices are two reads: a request can be logged between them.
    expect(await page.getByLabel("Status", { exact: true }).locator("option").allTextContents()).toContain("400")
  }).toPass()
  await expect(rows.locator("[data-label=Key]")).toHaveText([new RegExp(`^${name}`), new RegExp(`^${name}`)])
  await filterBy(page, "Status", "400")
  await expect(page).toHaveURL("/account/requests?status=400")
  await expect(rows).toHaveCount(1)
  await expect(rows).toContainText('Unknown parameter "nothing".')
  await openFilters(page)
  await expect(page.getByLabel("Key", { exact: true }).locator("option")).toHaveText(["Any", new RegExp(`… ${name}$`)])
  await page.keyboard.press("Escape")
  await rows.click()
  await expect(page).toHaveURL(/\/account\/requests\/[0-9a-f-]{36}$/)
  await expect(page.getByRole("dialog")).toContainText('Unknown parameter "nothing".')
  const opened = page.url()
  await page.goto("/account")
  const recent = page.getByRole("region", { name: "Recent requests" })
  await expect(recent.getByRole("link", { name })).toHaveCount(2)
  await recent.getByRole("link", { name: "GET /api/v1/me/orders" }).click()
  await expect(page).toHaveURL(opened)
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("GET /api/v1/me/orders")
})

for (const { path, api } of sampled([
  { path: "/account/credits", api: "/api/v1/me/credits" },
  { path: "/account/orders", api: "/api/v1/me/orders" },
  { path: "/account/credits/entries", api: "/api/v1/me/credits" },
])) {
  test(`last month is one click away on ${path}, and its rows are a file`, { tag: "@long" }, async ({
    page,
    signInAs,
    request,
  }) => {
    await signInAs("member")
    await page.goto(path)
    await page.getByRole("button", { name: "Date" }).click()
    await page.getByRole("link", { name: "Last month" }).click()
    await expect(page.getByRole("link", { name: "Remove Created: Last month" })).toBeVisible()
    const { search, searchParams } = new URL(page.url())
    const [since, until] = [searchParams.get("since"), searchParams.get("until")].map((date) => new Date(String(date)))
    expect([since?.getUTCDate(), until && new Date(until.getTime() + 86_400_000).getUTCDate()]).toEqual([1, 1])
    const file = page.getByRole("link", { name: /^Download all (rows|entries) as CSV$/ })
    const csv = await page.request.get(String(await file.getAttribute("href")))
    expect([csv.status(), csv.headers()["content-disposition"]]).toEqual([200, expect.stringContaining("attachment")])
    const headers = { Authorization: `Bearer ${keyOf("member")}`, Accept: "text/csv" }
    // Spreadsheets need the byte order mark; people need amounts in the currency's units. Programs need neither.
    const ofApi = await (await request.get(api + search, { headers })).text()
    const inUnits = ofApi.replace(/,(\d+),(\d+),usd,/g, (_, ...cents) => {
      const [amount, refunded] = cents.slice(0, 2).map((cent) => (Number(cent) / 100).toFixed(2))
      return `,${amount},${refunded},usd,`
    })
    expect(await csv.text()).toBe(`\uFEFF${inUnits}`)
    await page.getByRole("link", { name: "Remove Created: Last month" }).click()
    await expect(page).toHaveURL(path)
  })
}

test("paging shows every entry exactly once, in sequence without gaps", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  await page.goto(`/account/credits/entries?limit=25&order=asc&until=${daysAgo(1)}`)
  const seen: string[] = []
  const next = page.getByRole("link", { name: "Next" })
  for (let from = 1; ; from += 25) {
    await expect(page.getByRole("navigation", { name: "Pagination" })).toContainText(new RegExp(`^${from}–`))
    seen.push(...(await page.getByRole("rowheader").allTextContents()))
    if ((await next.count()) === 0) break
    await next.click()
  }
  expect(seen.length).toBeGreaterThan(25)
  expect(seen.map(Number)).toEqual(seen.map((_, index) => index + 1))
})

const welcome = 10 * work.maxCost

/** Sends the body in the form and returns the run once the page shows its cost. */
async function runOnce(page: Page, run: Locator): Promise<{ cost: number; balance: number }> {
  const [response] = await Promise.all([page.waitForResponse(`**${work.path}`), run.click()])
  const { data } = await response.json()
  await expect(outcome(page)).toContainText(
    new RegExp(`(^| · )${inCredits(data.cost)} · ${data.balance.toLocaleString("en")} left$`),
  )
  await expect(page.getByRole("link", { name: "Open the request" })).toHaveAttribute(
    "href",
    `/account/requests/${response.headers()["x-request-id"]}`,
  )
  return data
}

test("the lines of all pages add up to the balance, each run once", async ({ page, database, signUp }) => {
  const { id: userId } = await signUp({ credits: welcome })
  await page.goto("/api-keys")
  await createKey(page, uniqueName("Lines"))
  const { body, run } = await openRun(page)
  const costs: number[] = []
  for (const spaces of ["", " ", "  "]) {
    // Another text is another call, even if it means the same.
    await body.fill(work.body + spaces)
    costs.unshift((await runOnce(page, run)).cost)
  }
  await saved(page)
  await adjustBalance(database, userId, -7)
  await page.goto("/account/credits?limit=2")
  const [types, amounts]: [string[], number[]] = [[], []]
  const next = page.getByRole("link", { name: "Next" })
  for (;;) {
    await expect(page.getByRole("navigation", { name: "Pagination" })).toContainText("of 5 rows")
    types.push(...(await page.getByRole("table").locator("[data-label=Type]").allTextContents()))
    const shown = await page.getByRole("table").locator("[data-label=Amount]").allTextContents()
    amounts.push(...shown.map((amount) => Number(amount.replace("−", "-"))))
    if ((await next.count()) === 0) break
    await next.click()
    await expect(page).toHaveURL(new RegExp(`offset=${types.length}$`))
  }
  expect(types).toEqual(["Adjustment", "Run", "Run", "Run", "Grant"])
  expect(amounts).toEqual([-7, ...costs.map((cost) => -cost), welcome])
})

test("an invalid parameter and an empty result are reported on the page", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("member")
  const cases = [
    ["credits?limit=501", 'limit must be an integer from 1 to 500, got "501".'],
    ["orders?status=paid", 'Unknown parameter "status". Accepted: limit'],
    ["credits/entries?kind=gift", "kind must be one of grant, purchase, reserve, settle, release, adjustment, got"],
    ["credits/entries?runId=7", 'runId must be a UUID, got "7".'],
    [`credits?userId=${randomUUID()}`, 'Unknown parameter "userId". Accepted: limit, offset, since, until, order'],
    ["orders?since=2026-02-30", "since must be a date (2026-01-31)"],
    ["orders?cursor=x", "cursor must be the meta.nextCursor of an earlier response"],
  ]
  for (const [query, message] of sampled(cases, 2)) {
    await page.goto(`/account/${query}`)
    await expect(page.getByRole("main").getByRole("alert")).toContainText(String(message))
    await expect(page.getByRole("table")).toHaveCount(0)
  }
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("link", { name: "Clear filters" }).click()
  await expect(page.getByRole("table")).toBeVisible()
  await page.goto(`/account/credits/entries?runId=${randomUUID()}`)
  await expect(page.getByText("Nothing matches")).toBeVisible()
})

test.describe("a run with a new key", () => {
  test("starts with the example of the endpoint, and any other body gets the response of the API", {
    tag: "@long",
  }, async ({ page, request, signUp }) => {
    await signUp()
    await page.goto("/api-keys")
    await createKey(page, uniqueName("Example"))
    const { body, run } = await openRun(page)
    const { paths } = await (await request.get("/api/v1/openapi.json")).json()
    const { example } = paths[work.path].post.requestBody.content["application/json"]
    await expect(body).toHaveValue(JSON.stringify(example, null, 2))
    for (const [sent, message] of [
      ["{", "The body is not valid JSON."],
      ["", "Send a JSON body."],
      ["[]", "The body must be a JSON object."],
    ] as const) {
      await body.fill(sent)
      await run.click()
      await expect(outcome(page)).toHaveText(`Status 400: ${message}Change the body, then run it again.`)
    }
  })

  test("shows its price in advance, is charged once per body and reports the new balance", async ({
    page,
    database,
    signUp,
  }) => {
    const { id: userId } = await signUp({ credits: welcome })
    await page.goto("/api-keys")
    const keys: (string | undefined)[] = []
    page.on("request", (sent) => sent.url().endsWith(work.path) && keys.push(sent.headers()["idempotency-key"]))
    await createKey(page, uniqueName("Runs"))
    const { body, run } = await openRun(page)
    await expect(body).toHaveAccessibleDescription(new RegExp(`costs at most ${inCredits(work.maxCost)}`))
    const { cost, balance } = await runOnce(page, run)
    expect(balance).toBe(welcome - cost)
    await expect(outcome(page).locator("div")).toHaveClass(/text-good/)
    await expectAccessibleWithoutSidewaysScroll(page)
    await expect(page.getByRole("dialog")).toContainText('"result": {')
    await run.click()
    await expect(outcome(page)).toContainText(`nothing charged: this repeats a call that cost ${inCredits(cost)}`)
    await body.fill(`${work.body} `)
    expect(await runOnce(page, run)).toMatchObject({ cost, balance: balance - cost })
    expect(keys).toHaveLength(3)
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])

    const tooFew = work.maxCost - 1
    await adjustBalance(database, userId, tooFew - (balance - cost))
    await body.fill(`${work.body}  `)
    await run.click()
    await expect(outcome(page)).toHaveText(
      new RegExp(
        `^Status 402: .*balance is ${tooFew}\\. .*${sells ? "Add credits: \\S+/account/plan" : "How to add credits: \\S+/docs#credits"}Add credits$`,
      ),
    )
    await expect(outcome(page).locator("div")).toHaveClass(/text-bad/)
    await saved(page)
    await page.goto("/account/credits")
    await expect(fact(page, "Balance")).toHaveText(inCredits(tooFew))
    const ledger = page.getByRole("table", { name: "Ledger" })
    await expect(ledger.locator("[data-label=Type]")).toHaveText(["Adjustment", "Run", "Run", "Grant"])
    await expect(ledger.locator("[data-label=Amount]")).toContainText([/\d/, `−${cost}`, `−${cost}`, `+${welcome}`])
  })

  test("sends the key only in the header, and is not charged twice after a lost response", async ({
    page,
    database,
    signUp,
  }) => {
    const { id: userId } = await signUp({ credits: welcome })
    await page.goto("/api-keys")
    const key = await createKey(page, uniqueName("Lost"))
    const { run } = await openRun(page)
    const path = `**${work.path}`
    await page.route(path, async (route) => {
      await route.fetch()
      await route.abort()
    })
    const [sent] = await Promise.all([page.waitForRequest(path), run.click()])
    expect(sent.headers().authorization).toBe(`Bearer ${key}`)
    expect(sent.url() + sent.postData()).not.toContain(key)
    await expect(page.getByText("No response: the server could not be reached.")).toBeVisible()
    await page.unroute(path)
    const [again] = await Promise.all([page.waitForRequest(path), run.click()])
    expect((await again.allHeaders()).cookie).toBeUndefined()
    await expect(outcome(page)).toContainText("nothing charged: this repeats a call that cost ")
    const { rows } = await database.query("SELECT cost::int FROM runs WHERE user_id = $1", [userId])
    expect(rows).toHaveLength(1)
    await saved(page)
    await page.goto("/account/credits")
    await expect(fact(page, "Balance")).toHaveText(inCredits(welcome - rows[0].cost))
  })
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("the numbers, filters, paging and links to runs work", { tag: "@long" }, async ({ page, signInAs }) => {
    await signInAs("member")
    await page.goto("/account/credits")
    await page.getByText("The last 30 days in numbers").click()
    await expect(page.getByRole("table", { name: "The last 30 days" }).getByRole("rowheader")).toHaveCount(30)
    await page.getByRole("link", { name: "All entries", exact: true }).click()
    await filterWithoutScript(page, "Type", "reserve")
    await expect(page).toHaveURL("/account/credits/entries?kind=reserve")
    await page.goto("/account/credits/entries?kind=reserve&limit=5")
    await page.getByRole("link", { name: "Next" }).click()
    await expect(page).toHaveURL("/account/credits/entries?kind=reserve&limit=5&offset=5")
    await page.getByRole("link", { name: /^Run / }).first().click()
    await expect(page.getByLabel("Run ID")).toHaveValue(/^[0-9a-f-]{36}$/)
  })
})
