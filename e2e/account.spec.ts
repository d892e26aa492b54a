import { randomUUID } from "node:crypto"
import { type APIRequestContext, expect, type Locator, type Page } from "@playwright/test"
import type { Client } from "pg"
import { keyVariable, product } from "@/lib/product"
import { hashPassword } from "@/lib/sign-in/password-hash"
import { expectAccessibleWithoutSidewaysScroll, wide } from "./accessibility"
import { keyOf, test, uniqueEmail, uniqueName } from "./fixtures"
import { createKey, saved } from "./key-page"

const pages = ["/account", "/account/orders", "/account/credits"]

type Rows = { data: Record<string, unknown>[]; meta: { total: number; balance: number; held: number } }

/** The response of the user API to the demo account with the role member. */
async function callApi<Body = Rows>(request: APIRequestContext, url: string): Promise<Body> {
  const response = await request.get(url, { headers: { Authorization: `Bearer ${keyOf("member")}` } })
  expect(response.status()).toBe(200)
  return response.json()
}

/** Creates an account in the database and signs in to it: sign-ups are rate-limited more strictly than sign-ins. */
async function openAccount(page: Page, database: Client, credits: number): Promise<string> {
  const [id, email, password] = [randomUUID(), uniqueEmail(), "four words make sense"]
  const insert = "INSERT INTO users (id, email, name, password_hash) VALUES ($1, $2, 'Nell Newcomer', $3)"
  await database.query(insert, [id, email, await hashPassword(password, "this test")])
  await database.query("INSERT INTO credit_accounts (user_id) VALUES ($1)", [id])
  if (credits > 0) await adjustBalance(database, id, credits)
  await page.goto("/sign-in")
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await expect(page).toHaveURL("/api-keys")
  return id
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

function longDate(date: string | Date): string {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }).format(new Date(date))
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

test("each page requires sign-in and returns to the requested page", async ({ page }) => {
  for (const path of pages) {
    await page.goto(path)
    await expect(page).toHaveURL(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
  }
})

test("the account page shows the plan, price, renewal, balance and latest order that the API returns", async ({
  page,
  signInAs,
  request,
}) => {
  await signInAs("member")
  await page.goto("/account")
  await expect(page.getByRole("main")).toContainText("member@example.com")
  type Subscription = { data: { planId: string; amount: number; currentPeriodEnd: string; createdAt: string } }
  const { data: subscription } = await callApi<Subscription>(request, await curlUrl(page))
  const { data: orders, meta: ordered } = await callApi(request, "/api/v1/me/orders?limit=1")
  await expect(fact(page, "Price")).toContainText((subscription.amount / 100).toFixed(2))
  await expect(page.getByRole("main")).toContainText(longDate(subscription.currentPeriodEnd))
  await expect(fact(page, "Started")).toHaveText(longDate(subscription.createdAt))
  await expect(fact(page, "Latest")).toHaveText(String(orders[0]?.description))
  await expect(fact(page, "Total orders")).toHaveText(String(ordered.total))
  // Tests of other pages run concurrently and spend this account's credits.
  await expect(async () => {
    await page.reload()
    const { meta } = await callApi(request, "/api/v1/me/credits?limit=1")
    expect(await fact(page, "Balance").textContent()).toBe(meta.balance.toLocaleString("en"))
  }).toPass()
  await page.getByRole("link", { name: "Usage and ledger" }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Credits")
  await page.goBack()
  await page.getByRole("link", { name: "All orders" }).click()
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Orders")
})

test("a subscription shows its status and what happens at the end of its period", async ({ page, database }) => {
  const userId = await openAccount(page, database, 0)
  const end = new Date(Date.now() + 10 * 86_400_000)
  await database.query(
    `INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, current_period_start, current_period_end)
     SELECT gen_random_uuid(), $1, id, 'trialing', 1234, currency, interval, now(), $2 FROM plans WHERE id = 'pro_month_usd'`,
    [userId, end],
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
    await expect(fact(page, "Plan")).toHaveText(`Pro ${status.replace("_", " ")}`)
    await expect(fact(page, "Price")).toHaveText("$12.34 per month")
    await expect(fact(page, label)).toHaveText(`${longDate(end)}, in 10 days`)
    await expect(page.getByText("A payment is overdue.")).toHaveCount(status === "past_due" ? 1 : 0)
  }
})

test("a new account has welcome credits, and each empty page says what to do next", async ({ page, signUp }) => {
  await signUp()
  await page.goto("/account")
  await expect(page.getByText("No subscription")).toBeVisible()
  await expect(page.getByText(`Contact ${product.supportEmail} to subscribe.`)).toBeVisible()
  await expect(fact(page, "Balance")).toHaveText("100")
  await expect(page.getByText("No orders yet.")).toBeVisible()
  await page.goto("/account/orders")
  await expect(page.getByText("No orders yet")).toBeVisible()
  await page.getByRole("main").getByRole("link", { name: "balance" }).click()
  await expect(page).toHaveURL("/account/credits")
  const ledger = page.getByRole("table", { name: "Ledger" })
  await expect(ledger.getByRole("row")).toHaveCount(2)
  await expect(ledger.getByRole("row").nth(1)).toHaveText(/^1just nowgrantWelcome credits\+100100$/)
  await expect(page.locator("main svg.recharts-surface")).toHaveCount(2)
})

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("a new name is shown everywhere at once, and an invalid one is reported at its field", async ({
      page,
      database,
    }) => {
      await openAccount(page, database, 0)
      await page.goto("/account")
      const name = page.getByLabel("Name", { exact: true })
      await expect(name).toHaveValue("Nell Newcomer")
      await name.fill("Nell\u202eNewest")
      await page.getByRole("button", { name: "Change name" }).click()
      await expect(name).toHaveAccessibleDescription(/without control characters/)
      const renamed = uniqueName("Nell")
      await name.fill(renamed)
      await page.getByRole("button", { name: "Change name" }).click()
      const heading = page.getByRole("heading", { name: "Your name was changed" })
      await expect(heading).toBeVisible()
      if (javaScriptEnabled) await expect(heading).toBeFocused()
      await expect(page.getByText(new RegExp(`^${renamed}, `))).toBeVisible()
      await page.getByRole("button", { name: /^Account menu/ }).click()
      await expect(page.locator("#account").getByText(renamed, { exact: true })).toBeVisible()
    })
  })
}

test("an empty ledger explains where credits come from and how they are spent", async ({ page, database }) => {
  await openAccount(page, database, 0)
  await page.goto("/account/credits")
  await expect(page.getByText("No entries yet")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByRole("main").getByRole("link", { name: "an API key" }).click()
  await expect(page).toHaveURL("/api-keys")
})

test("a table lists the days of the charts, and the heading shows their sum", async ({ page, signInAs }) => {
  await signInAs("member")
  await page.goto("/account/credits")
  await page.getByText("The last 30 days in numbers").click()
  const days = page.getByRole("table", { name: "The last 30 days" })
  await expect(days.getByRole("rowheader")).toHaveCount(30)
  await expect(days.getByRole("rowheader").first()).toHaveText(new Date().toISOString().slice(0, 10))
  const numbers = (await days.locator("[data-label=Spent]").allTextContents()).map((text) =>
    Number(text.replaceAll(",", "")),
  )
  const sum = numbers.reduce((total, number) => total + number, 0)
  await expect(
    page.getByRole("heading", { name: `Spent in the last 30 days: ${sum.toLocaleString("en")} credits` }),
  ).toBeVisible()
  expect(sum).toBeGreaterThan(0)
  const balance = await fact(page, "Balance").textContent()
  await expect(days.locator("[data-label=Balance]").first()).toHaveText(String(balance))
})

test("the API request on a page returns the rows on screen", async ({ page, signInAs, request }) => {
  await signInAs("member")
  for (const path of [
    "/account/orders",
    "/account/orders?order=asc&limit=3&offset=1",
    `/account/credits?kind=reserve&limit=7&offset=3&until=${daysAgo(1)}`,
    `/account/credits?until=${daysAgo(1)}`,
  ]) {
    await page.goto(path)
    const { data, meta } = await callApi(request, await curlUrl(page))
    expect(data.length).toBeGreaterThan(0)
    await expect(page.getByRole("table").last().getByRole("rowheader")).toHaveText(
      data.map(({ seq, description }) => (seq === undefined ? String(description) : Number(seq).toLocaleString("en"))),
    )
    await expect(page.getByRole("navigation", { name: "Paging" })).toContainText(
      ` of ${meta.total.toLocaleString("en")}`,
    )
  }
})

test("the URL contains filters as the API accepts them, but no empty ones", async ({ page, signInAs }) => {
  await signInAs("member")
  await page.goto("/account/credits")
  await page.getByLabel("Kind").selectOption("purchase")
  await page.getByLabel("Since").fill("2026-01-01")
  await page.getByLabel("Order", { exact: true }).selectOption("Oldest first")
  await page.getByRole("button", { name: "Apply" }).click()
  await expect(page).toHaveURL("/account/credits?kind=purchase&since=2026-01-01&order=asc")
  const kinds = await page.getByRole("table").locator("[data-label=Kind]").allTextContents()
  expect(new Set(kinds)).toEqual(new Set(["purchase"]))
  await page.getByRole("link", { name: "Clear" }).click()
  await expect(page).toHaveURL("/account/credits")
})

test("a run links to all of its entries", async ({ page, signInAs }) => {
  await signInAs("member")
  await page.goto("/account/credits?kind=settle")
  const link = page.getByRole("table").getByRole("link", { name: /^Run / }).first()
  const runId = await link.getAttribute("title")
  await link.click()
  await expect(page).toHaveURL(`/account/credits?runId=${runId}`)
  await expect(page.getByLabel("Run ID")).toHaveValue(String(runId))
  await expect(page.getByRole("table").locator("[data-label=Kind]")).toHaveText(["settle", "reserve"])
  const amounts = (await page.getByRole("table").locator("td[data-label=Amount]").allTextContents()).map(Number)
  const [released = 0, reserved = 0] = amounts
  expect(reserved).toBe(-10)
  expect(released).toBeGreaterThan(0)
  expect(released).toBeLessThanOrEqual(10)
})

test("paging shows every entry exactly once, in sequence without gaps", async ({ page, signInAs }) => {
  await signInAs("member")
  await page.goto(`/account/credits?limit=25&order=asc&until=${daysAgo(1)}`)
  const seen: string[] = []
  const next = page.getByRole("link", { name: "Next" })
  for (let from = 1; ; from += 25) {
    await expect(page.getByRole("navigation", { name: "Paging" })).toContainText(new RegExp(`^${from}–`))
    seen.push(...(await page.getByRole("rowheader").allTextContents()))
    if ((await next.count()) === 0) break
    await next.click()
  }
  expect(seen.length).toBeGreaterThan(25)
  expect(seen.map(Number)).toEqual(seen.map((_, index) => index + 1))
})

test("an invalid parameter and an empty result are reported on the page", async ({ page, signInAs }) => {
  await signInAs("member")
  for (const [query, message] of [
    ["credits?kind=gift", "kind must be one of grant, purchase, reserve, settle, release, adjustment, got"],
    ["credits?runId=7", 'runId must be a UUID, got "7".'],
    ["credits?limit=501", 'limit must be an integer from 1 to 500, got "501".'],
    [`credits?userId=${randomUUID()}`, 'Unknown parameter "userId". Accepted: limit, offset, since, until, order'],
    ["orders?since=2026-02-30", "since must be a date (2026-01-31)"],
    ["orders?status=paid", 'Unknown parameter "status". Accepted: limit'],
    ["orders?cursor=x", "cursor must be the meta.nextCursor of an earlier response"],
  ]) {
    await page.goto(`/account/${query}`)
    await expect(page.getByRole("main").getByRole("alert")).toContainText(String(message))
    await expect(page.getByRole("table")).toHaveCount(0)
  }
  await page.getByRole("link", { name: "Show everything" }).click()
  await expect(page.getByRole("table")).toBeVisible()
  await page.goto(`/account/credits?runId=${randomUUID()}`)
  await expect(page.getByText("Nothing matches")).toBeVisible()
})

test("no page shows another account's orders, credits, runs or subscription", async ({ page, database }) => {
  const id = await openAccount(page, database, 50)
  const { rows } = await database.query("SELECT id, user_id FROM runs WHERE user_id <> $1 LIMIT 1", [id])
  const [{ id: run, user_id: otherUser }] = rows
  const marker = uniqueName("Marker")
  await database.query(
    `INSERT INTO orders (id, user_id, kind, description, status, amount, currency, credits, paid_at)
     VALUES (gen_random_uuid(), $1, 'credits', $2, 'paid', 77777, 'usd', 4711, now())`,
    [otherUser, marker],
  )
  for (const path of [...pages, `/account/credits?runId=${run}`]) {
    const html = String(await (await page.goto(path))?.text())
    expect(html).not.toContain(marker)
    expect(html).not.toContain(otherUser)
  }
  await expect(page.getByText("Nothing matches")).toBeVisible()
})

test.describe("a run with a new key", () => {
  const run = (page: Page) => page.getByRole("button", { name: "Run for up to 10 credits" })
  const body = (page: Page) => page.getByLabel("JSON body")
  const textOf = (text: string) => JSON.stringify({ text })

  test("starts with the example of the endpoint, and anything else that is sent gets the response of the API", async ({
    page,
    request,
    database,
  }) => {
    await openAccount(page, database, 100)
    await createKey(page, uniqueName("Example"))
    const { paths } = await (await request.get("/api/v1/openapi.json")).json()
    const { example } = paths["/api/v1/me/run"].post.requestBody.content["application/json"]
    await expect(body(page)).toHaveValue(JSON.stringify(example, null, 2))
    for (const [sent, message] of [
      ["{", "The body is not valid JSON."],
      ["", "Send a JSON body."],
      [textOf(""), "text must not be empty."],
      ['{"numbers":[1]}', "text must be a string."],
    ] as const) {
      await body(page).fill(sent)
      await run(page).click()
      await expect(page.getByRole("status").getByText(`Status 400: ${message}`)).toBeVisible()
    }
  })

  test("shows its price in advance, is charged once per body and reports the new balance", async ({
    page,
    database,
  }) => {
    const userId = await openAccount(page, database, 100)
    const keys: (string | undefined)[] = []
    page.on("request", (sent) => sent.url().endsWith("/run") && keys.push(sent.headers()["idempotency-key"]))
    await createKey(page, uniqueName("Runs"))
    await expect(body(page)).toHaveAccessibleDescription(/1 credit per 100 words.*at most 10 credits/)
    await body(page).fill(textOf("One two three."))
    await run(page).click()
    await expect(page.getByText("Cost 1 credit. Balance: 99 credits.")).toBeVisible()
    await expect(page.getByRole("dialog")).toContainText('"words": 3')
    await run(page).click()
    await expect(page.getByText("nothing was charged this time. The original run cost 1 credit.")).toBeVisible()
    await body(page).fill(textOf("word ".repeat(101)))
    await run(page).click()
    await expect(page.getByText("Cost 2 credits. Balance: 97 credits.")).toBeVisible()
    expect(keys).toHaveLength(3)
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])

    await adjustBalance(database, userId, 9 - 97)
    await body(page).fill(textOf("One two three."))
    await run(page).click()
    await expect(
      page.getByText(/^Status 402: .*balance is 9\. .*Contact the service operator to add credits\.$/),
    ).toBeVisible()
    await saved(page)
    await page.goto("/account/credits")
    await expect(fact(page, "Balance")).toHaveText("9")
    await expect(page.getByRole("table", { name: "Ledger" }).locator("[data-label=Kind]")).toHaveText([
      ...["adjustment", "settle", "reserve", "settle", "reserve", "adjustment"],
    ])
  })

  test("sends the key only in the header, and is not charged twice after a lost response", async ({
    page,
    database,
  }) => {
    await openAccount(page, database, 100)
    const key = await createKey(page, uniqueName("Lost"))
    await page.route("**/api/v1/me/run", async (route) => {
      await route.fetch()
      await route.abort()
    })
    const [sent] = await Promise.all([page.waitForRequest("**/api/v1/me/run"), run(page).click()])
    expect(sent.headers().authorization).toBe(`Bearer ${key}`)
    expect(sent.url() + sent.postData()).not.toContain(key)
    await expect(page.getByText("No response: the server could not be reached.")).toBeVisible()
    await page.unroute("**/api/v1/me/run")
    const [again] = await Promise.all([page.waitForRequest("**/api/v1/me/run"), run(page).click()])
    expect((await again.allHeaders()).cookie).toBeUndefined()
    await expect(page.getByText("nothing was charged this time. The original run cost 1 credit.")).toBeVisible()
    await saved(page)
    await page.goto("/account/credits")
    await expect(fact(page, "Balance")).toHaveText("99")
  })
})

test("the page of admin keys offers no run", async ({ page, signInAs }) => {
  await signInAs("finance")
  await page.goto("/admin/api-keys")
  await createKey(page, uniqueName("Reads"))
  await expect(page.getByRole("button", { name: "Test it now" })).toBeVisible()
  await expect(page.getByRole("button", { name: /^Run/ })).toHaveCount(0)
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("the numbers, filters, paging and links to runs work", async ({ page, signInAs }) => {
    await signInAs("member")
    await page.goto("/account")
    await page.getByRole("link", { name: "Usage and ledger" }).click()
    await page.getByText("The last 30 days in numbers").click()
    await expect(page.getByRole("table", { name: "The last 30 days" }).getByRole("rowheader")).toHaveCount(30)
    await page.getByLabel("Kind").selectOption("reserve")
    await page.getByRole("button", { name: "Apply" }).click()
    await expect(page).toHaveURL("/account/credits?kind=reserve")
    await page.goto("/account/credits?kind=reserve&limit=5")
    await page.getByRole("link", { name: "Next" }).click()
    await expect(page).toHaveURL("/account/credits?kind=reserve&limit=5&offset=5")
    await page.getByRole("link", { name: /^Run / }).first().click()
    await expect(page.getByLabel("Run ID")).toHaveValue(/^[0-9a-f-]{36}$/)
  })
})

test.describe("in light and dark mode", () => {
  test.use({ viewport: wide })

  test("every account page is accessible and fits narrow screens, also when empty, filtered or with an error", async ({
    page,
    context,
    customer,
    signInAs,
  }) => {
    await signInAs("member")
    const credits = ["/account/credits?kind=settle&limit=10", "/account/credits?kind=gift"]
    for (const path of ["/account", "/account/orders?limit=10", ...credits]) {
      await page.goto(path)
      await expectAccessibleWithoutSidewaysScroll(page)
    }
    await page.goto("/account/credits")
    await page.getByText("The last 30 days in numbers").click()
    await expectAccessibleWithoutSidewaysScroll(page)
    await context.addCookies(customer.cookies)
    for (const path of ["/account", "/account/orders"]) {
      await page.goto(path)
      await expectAccessibleWithoutSidewaysScroll(page)
    }
  })

  test("a run's price and result are accessible and fit narrow screens", async ({ page, database }) => {
    await openAccount(page, database, 100)
    await createKey(page, uniqueName("Run looks"))
    await page.getByRole("button", { name: /^Run for/ }).click()
    await expect(page.getByText(/^Cost 1 credit\./)).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)
  })
})
