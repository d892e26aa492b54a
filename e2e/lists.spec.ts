import { randomBytes, randomUUID } from "node:crypto"
import { expect, type Locator, type Page } from "@playwright/test"
import type { Client } from "pg"
import { money } from "@/lib/platform/text/money"
import { plans } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { isPresent } from "@/tests/support/pages"
import { sampled } from "@/tests/support/sample"
import { narrow, wide } from "./accessibility"
import { createAccount, test, uniqueEmail, uniqueName } from "./fixtures"
import { createKey, press, row, rowButton, saved } from "./key-page"
import { filterBy, filterWithoutScript, openFilters } from "./lists"
import { hydrated } from "./pages"

const day = 86_400_000

function daysAgo(days: number): string {
  return new Date(Date.now() - days * day).toISOString().slice(0, 10)
}

async function subscribe(database: Client, userId: string, status = "active", more = {}): Promise<void> {
  const row = { cancel_at_period_end: false, canceled_at: null, ...more }
  await database.query(
    `INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, created_at, current_period_start,
                                current_period_end, cancel_at_period_end, canceled_at)
     SELECT gen_random_uuid(), $1, id, $2::subscription_status, amount, currency, interval, now() - interval '40 days', now(),
            now() + interval '9 days', $3, $4 FROM plans ORDER BY id LIMIT 1`,
    [userId, status, row.cancel_at_period_end, row.canceled_at],
  )
}

/** An order that no statistic of the last years counts. */
async function order(database: Client, userId: string, refunded: number): Promise<string> {
  const id = randomUUID()
  await database.query(
    `INSERT INTO orders (id, user_id, kind, description, status, amount, refunded_amount, currency, created_at, paid_at, refunded_at)
     VALUES ($1, $2, 'credits', 'Old credits', $3::order_status, 1500, $4, 'usd', '2016-01-02', '2016-01-02', $5)`,
    [id, userId, refunded > 0 ? "refunded" : "paid", refunded, refunded > 0 ? "2016-01-03" : null],
  )
  return id
}

function rows(page: Page): Locator {
  return page.getByRole("rowheader")
}

/** A point in the row without text: at the right of its last cell. */
async function clickBlank(row: Locator): Promise<void> {
  const box = await row.boundingBox()
  await row.click({ position: { x: Number(box?.width) - 6, y: Number(box?.height) / 2 } })
}

test("the key / leads to the search, which finds an account by a part of its address", async ({
  page,
  signInAs,
  database,
}) => {
  const { email } = await createAccount(database)
  await signInAs("admin")
  await page.goto("/admin/users?role=member")
  await hydrated(page)
  await page.keyboard.press("/")
  const search = page.getByRole("searchbox", { name: "Search" })
  await expect(search).toBeFocused()
  await search.fill(email.slice(4, 24))
  await page.keyboard.press("Enter")
  await expect(rows(page)).toHaveText([new RegExp(email)])
  await expect(page).toHaveURL(`/admin/users?q=${email.slice(4, 24)}&role=member`)
  await expect(search).toHaveValue(email.slice(4, 24))
  await expect(search).toBeFocused()
  await search.press("/")
  await expect(search).toHaveValue(/\//)
  await page.getByRole("link", { name: "Clear" }).click()
  await expect(search).toHaveValue("")
})

test("active filters are counted, and each is a link that removes it alone", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/admin/orders?status=paid&kind=subscription&order=asc&since=2026-01-01")
  await expect(page.getByRole("button", { name: "Filters 2 active" })).toBeVisible()
  const active = page.getByRole("list", { name: "Active filters" })
  await expect(active.getByRole("link")).toHaveText([
    "Remove Status: Paid",
    "Remove Type: subscription",
    "Remove Created since: 1 Jan 2026",
    "Clear",
  ])
  await active.getByRole("link", { name: "Remove Type: subscription" }).click()
  await expect(page).toHaveURL("/admin/orders?status=paid&order=asc&since=2026-01-01")
  await active.getByRole("link", { name: "Clear" }).click()
  await expect(page).toHaveURL("/admin/orders")
  await expect(active).toHaveCount(0)
})

test("a chosen view is named once, and its filters are shown if more filters are active", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/admin/orders")
  const active = page.getByRole("list", { name: "Active filters" })
  const failed = page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Failed" })
  await failed.click()
  await expect(failed).toHaveAttribute("aria-current", "true")
  await expect(active).toHaveCount(0)
  await page.goto("/admin/orders?status=failed&kind=subscription")
  await expect(active.getByRole("link", { name: "Remove Status: Failed" })).toBeVisible()
})

test("a preset sets the dates of a list and keeps its filters", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin/orders?status=paid&offset=50&until=2026-06-30")
  for (const [label, since] of [
    ["7 days", daysAgo(6)],
    ["30 days", daysAgo(29)],
  ] as const) {
    await page.getByRole("button", { name: "Date" }).click()
    await page.getByRole("link", { name: label, exact: true }).click()
    await expect(page).toHaveURL(`/admin/orders?status=paid&since=${since}`)
    await expect(page.getByRole("link", { name: `Remove Created: ${label}` })).toBeVisible()
  }
})

test("a search finds text that was typed before the page's scripts ran", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  let load = () => {}
  const loaded = new Promise<void>((resolve) => {
    load = resolve
  })
  await page.route("**/_next/static/**/*.js", async (route) => {
    await loaded
    await route.continue()
  })
  await page.goto("/admin/users", { waitUntil: "commit" })
  const field = page.getByRole("searchbox")
  await field.fill("member@example")
  load()
  await hydrated(page)
  await expect(field).toHaveValue("member@example")
  await field.press("Enter")
  await expect(page).toHaveURL("/admin/users?q=member%40example")
})

test("a filter by account takes an address; the URL and the API request have the id, the field shows the address", async ({
  page,
  signInAs,
  database,
}) => {
  const { id, email } = await createAccount(database)
  await signInAs("admin")
  const filters = [
    ["/admin/orders", "Account", "userId"],
    ["/admin/audit", "Target", "targetId"],
    ["/admin/credits", "Account", "userId"],
  ] as const
  const present = filters.filter(([path]) => isPresent(path))
  for (const [path, label, name] of sampled(present, 2)) {
    await page.goto(`${path}?order=asc`)
    await hydrated(page)
    const field = page.getByLabel(label, { exact: true })
    if (!(await field.isVisible())) await openFilters(page)
    await field.fill(` ${email.toUpperCase()}`)
    await field.press("Enter")
    await expect(page).toHaveURL(`${path}?${name}=${id}&order=asc`)
    await expect(field).toHaveValue(email)
    await expect(page.getByLabel("Equivalent API request")).toHaveValue(new RegExp(`${name}=${id}`))
    await expect(page.getByRole("link", { name: `Remove ${label}: ${email}` })).toBeVisible()
  }
  const nobodys = uniqueEmail()
  await page.goto(`/admin/orders?userId=${nobodys}`)
  await expect(page.getByRole("main").getByRole("alert")).toContainText(`No account matches “${nobodys}”.`)
  await expect(page.getByLabel("Account", { exact: true })).toHaveValue(nobodys)
})

test("a name or a part of an address finds the account to filter by; the viewer chooses among several matches", {
  tag: "@long",
}, async ({ page, signInAs, database }) => {
  const word = randomBytes(8).toString("hex")
  const first = await createAccount(database, { email: `${word}.1@example.com` })
  await database.query("UPDATE users SET name = 'Jos\u00e9 <b>Of' || $1 WHERE id = $2", [word, first.id])
  await signInAs("admin")
  for (const typed of [`${word}.1@exam`, `jose <b>of${word}`]) {
    await page.goto("/admin/requests?order=asc")
    await page.getByLabel("Account", { exact: true }).fill(typed)
    await page.keyboard.press("Enter")
    await expect(page).toHaveURL(`/admin/requests?userId=${first.id}&order=asc`)
    await expect(page.getByRole("link", { name: `Remove Account: ${first.email}` })).toBeVisible()
  }
  for (let other = 2; other <= 12; other++) await createAccount(database, { email: `${word}.${other}@example.com` })
  await page.goto(`/admin/requests?limit=25&userId=${word}`)
  const choice = page.getByRole("region", { name: "Accounts that match" })
  await expect(choice.getByRole("status")).toHaveText(
    `12 accounts match “${word}”. Choose one; these are the newest 10.`,
  )
  await expect(choice.getByRole("link")).toHaveCount(10)
  await choice.getByRole("link", { name: `${word}.12@example.com` }).click()
  await expect(page).toHaveURL(/\/admin\/requests\?limit=25&userId=[0-9a-f-]{36}$/)
  await expect(page.getByLabel("Account", { exact: true })).toHaveValue(`${word}.12@example.com`)
  const alert = page.getByRole("main").getByRole("alert")
  for (const [typed, message] of [
    [`nobody ${word}`, `No account matches “nobody ${word}”.`],
    ["x", "A name or a part of an address must have 3 to 100 characters"],
  ] as const) {
    await page.goto(`/admin/usage?userId=${typed}`)
    await expect(alert).toContainText(message)
  }
})

test("a filter reveals nothing about an address or a name to a viewer who may not read accounts", async ({
  page,
  signInAs,
  database,
}) => {
  const { email } = await createAccount(database)
  await signInAs("finance")
  for (const typed of [email, email.slice(0, 12), "Nova Newcomer", uniqueEmail()]) {
    await page.goto(`/admin/orders?userId=${typed}`)
    await expect(page.getByRole("main").getByRole("alert")).toContainText(`userId must be a UUID, got "${typed}".`)
    await expect(page.getByRole("region", { name: "Accounts that match" })).toHaveCount(0)
  }
})

test("an order has an id to copy, and views of the statuses", { tag: "@long" }, async ({
  page,
  signInAs,
  context,
  database,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"])
  await order(database, (await createAccount(database)).id, 1500)
  await signInAs("admin")
  await page.goto("/admin/orders")
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Refunded" }).click()
  await expect(page).toHaveURL("/admin/orders?status=refunded")
  const statuses = page.locator("[data-label=Status]")
  await expect(statuses.first()).toHaveText("Refunded")
  expect(new Set(await statuses.allTextContents())).toEqual(new Set(["Refunded"]))
  const cell = page.locator("td[data-label=Description]").first()
  const id = String(await cell.locator("code").textContent())
  await cell.getByRole("button", { name: `Copy ID ${id}` }).click()
  await expect(cell.getByRole("status")).toHaveText("Copied")
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(id)
  await expect(page).toHaveURL("/admin/orders?status=refunded")
})

test("on a phone, cards leave out empty fields", { tag: "@long" }, async ({ page, signInAs, database }) => {
  const { id } = await createAccount(database)
  const [paid, refunded] = [await order(database, id, 0), await order(database, id, 1500)]
  await page.setViewportSize(narrow)
  await signInAs("admin")
  for (const [order, isShown] of [
    [paid, false],
    [refunded, true],
  ] as const) {
    await page.goto(`/admin/orders?q=${order}`)
    const card = page.getByRole("row").nth(1)
    await expect(card.locator("[data-label=Amount]")).toBeVisible()
    await expect(card.locator("[data-label=Refunded]")).toBeVisible({ visible: isShown })
  }
})

test("the sidebar shows the entry of the page, also in a low window", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  for (const height of [900, 500]) {
    await page.setViewportSize({ width: 1280, height })
    await page.goto("/admin/api-keys")
    await expect(page.locator("[aria-current=page]")).toBeInViewport({ ratio: 1 })
  }
})

test("plans, currencies, ratings, routes and statuses are choices", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  const [plan] = plans
  const choices = [
    [
      "/admin/subscriptions",
      "Plan",
      `${plan.name}, ${money(plan.amount, "usd")} per month`,
      `planId=${plan.slug}_month_usd`,
    ],
    ["/admin/subscriptions", "Cancels at period end", "Yes", "cancelAtPeriodEnd=true"],
    ["/admin/orders", "Currency", "EUR", "currency=eur"],
    ["/admin/requests", "Route", "/api/v1/me/credits", "route=%2Fapi%2Fv1%2Fme%2Fcredits"],
    ["/admin/requests", "Status", "429", "status=429"],
    ["/admin/audit", "Target type", "api key", "targetType=api_key"],
    ["/admin/feedback", "Rating", "5", "rating=5"],
    ["/admin/emails", "Template", "welcome", "template=welcome"],
  ].filter(([path = ""]) => isPresent(path)) as [string, string, string, string][]
  for (const [path, label, choice, query] of sampled(choices, 4)) {
    await page.goto(path)
    await filterBy(page, label, choice)
    await expect(page).toHaveURL(`${path}?${query}`)
    await expect(rows(page).first()).toBeVisible()
    await expect(page.getByLabel(label, { exact: true }).locator("option:checked")).toHaveText(choice)
  }
})

test("a heading sorts by its column in both directions, shows the direction, and keeps the filters", async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/admin/users?role=member&limit=25")
  const heading = page.getByRole("columnheader", { name: "Account" })
  await expect(page.getByRole("columnheader", { name: "Signed up" })).toHaveAttribute("aria-sort", "descending")
  await expect(heading).not.toHaveAttribute("aria-sort")
  await heading.getByRole("link").click()
  await expect(page).toHaveURL("/admin/users?role=member&limit=25&sort=name&order=asc")
  await expect(heading).toHaveAttribute("aria-sort", "ascending")
  await expect(rows(page)).toHaveCount(25)
  const ascending = await rows(page).getByRole("link").allTextContents()
  expect(ascending).toEqual([...ascending].sort())
  await heading.getByRole("link").click()
  await expect(page).toHaveURL("/admin/users?role=member&limit=25&sort=name")
  await expect(heading).toHaveAttribute("aria-sort", "descending")
  await filterBy(page, "Status", "active")
  await expect(page).toHaveURL("/admin/users?status=active&role=member&sort=name&limit=25")
  await page.goto("/admin/credits/balances")
  await page.getByRole("columnheader", { name: "Balance", exact: true }).getByRole("link").click()
  await expect(page).toHaveURL("/admin/credits/balances?sort=balance")
})

test("on a phone, where rows are cards, a select sorts", { tag: "@long" }, async ({ page, signInAs }) => {
  await page.setViewportSize(narrow)
  await signInAs("admin")
  await page.goto("/admin/users?role=member")
  await hydrated(page)
  await openFilters(page)
  await page.getByLabel("Sort", { exact: true }).selectOption("Email")
  await page.getByLabel("Order", { exact: true }).selectOption("Ascending")
  await expect(page).toHaveURL("/admin/users?role=member&sort=email&order=asc")
})

test("the number of rows on a page is a link that starts at the first row", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await signInAs("admin")
  await page.goto("/admin/orders?status=paid&offset=50")
  const sizes = page.getByRole("list", { name: "Rows per page" })
  await expect(sizes.getByRole("link")).toHaveText(["25", "50", "100", "500"])
  await expect(sizes.getByRole("link", { name: "50 rows" })).toHaveAttribute("aria-current", "true")
  await sizes.getByRole("link", { name: "25 rows" }).click()
  await expect(page).toHaveURL("/admin/orders?status=paid&limit=25")
  await expect(rows(page)).toHaveCount(25)
})

for (const [width, size] of sampled(Object.entries({ desktop: wide, phone: narrow }))) {
  test(`on a ${width}, a click anywhere in a row opens its account, and other links in the row open their own pages`, {
    tag: "@long",
  }, async ({ page, signInAs }) => {
    await page.setViewportSize(size)
    await signInAs("admin")
    const account = /\/admin\/users\/[0-9a-f-]{36}$/
    await page.goto("/admin/credits")
    await clickBlank(page.getByRole("row").nth(1))
    await expect(page).toHaveURL(account)
    await page.goto("/admin/orders")
    await page.getByRole("row").nth(1).locator("time").first().click()
    await expect(page).toHaveURL(account)
    await page.goto("/admin/requests")
    await page.getByRole("row").nth(1).locator("[data-label=Account] a").click()
    await expect(page).toHaveURL(account)
  })
}

for (const width of sampled([1280, 1024])) {
  test(`at ${width} pixels, headings stay in view while the page scrolls`, async ({ page, signInAs }) => {
    await page.setViewportSize({ width, height: 800 })
    await signInAs("admin")
    await page.goto("/admin/orders")
    await rows(page).last().scrollIntoViewIfNeeded()
    await expect(rows(page).last()).toBeInViewport()
    const heading = page.getByRole("columnheader", { name: "Account" })
    await expect(heading).toBeInViewport({ ratio: 1 })
    const isOnTop = await heading.evaluate((element) => {
      const { x, y } = element.getBoundingClientRect()
      return element.contains(document.elementFromPoint(x + 10, y + 10))
    })
    expect(isOnTop).toBe(true)
  })
}

test("keys move between rows, open and select them, and lead to the buttons for selected rows; in a field they are typed", async ({
  page,
  signInAs,
  signUp,
  database,
}) => {
  await signInAs("admin")
  await page.goto("/admin/orders")
  await hydrated(page)
  const links = rows(page).getByRole("link")
  await page.keyboard.press("j")
  await expect(links.first()).toBeFocused()
  for (const key of "jjk") await page.keyboard.press(key)
  await expect(links.nth(1)).toBeFocused()
  await page.keyboard.press("/")
  await page.keyboard.type("jk")
  await expect(page.getByRole("searchbox")).toHaveValue("jk")
  await page.getByRole("searchbox").fill("")
  await links.nth(2).focus()
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(/\/admin\/users\/[0-9a-f-]{36}$/)

  const { id } = await signUp()
  const names = ["First", "Second", "Third"]
  await database.query(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
     SELECT gen_random_uuid(), $1, 'user', name, $3, sha256(gen_random_uuid()::text::bytea), gen_random_uuid() FROM unnest($2::text[]) name`,
    [id, names, `${kinds.user.prefix}Ab3d`],
  )
  await page.goto("/api-keys")
  await hydrated(page)
  for (const key of ["j", "x", "j", "j", "x"]) await page.keyboard.press(key)
  await expect(page.getByRole("checkbox", { name: /^Select .+…$/, checked: true })).toHaveCount(2)
  // Enter in a checkbox would press the form's first button.
  await page.getByRole("checkbox", { checked: true }).first().press("Enter")
  await page.keyboard.press("a")
  const bar = page.getByRole("group", { name: "Selected rows" })
  await expect(bar.getByRole("button", { name: "Revoke" })).toBeFocused()
  await page.keyboard.press("Enter")
  await expect(page.getByRole("dialog", { name: "Revoke these 2 keys?" })).toBeVisible()
  await page.getByRole("button", { name: "Revoke 2 keys" }).press("Enter")
  await expect(page.getByText("2 keys are revoked.")).toBeVisible()
  await expect(rows(page)).toHaveCount(1)
  await expect(bar).toHaveCount(0)
  const audited = await database.query("SELECT FROM audit_entries WHERE action = 'api_key.revoked' AND actor_id = $1", [
    id,
  ])
  expect(audited.rowCount).toBe(2)
})

test("subscriptions that may end soon and ended subscriptions are one click away", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const prefix = `churn-${randomUUID().slice(0, 8)}`
  const create = async (name: string) => createAccount(database, { email: `${prefix}-${name}@example.com` })
  const [late, leaving, gone, quiet] = [
    await create("late"),
    await create("leaving"),
    await create("gone"),
    await create("quiet"),
  ]
  await subscribe(database, late.id, "past_due")
  await subscribe(database, leaving.id, "active", { cancel_at_period_end: true })
  await subscribe(database, gone.id, "canceled", { canceled_at: new Date() })
  await subscribe(database, quiet.id)
  for (const { id } of [late, leaving]) {
    await database.query(
      `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id, last_used_at)
       VALUES (gen_random_uuid(), $1, 'user', 'Used', '${kinds.user.prefix}used', $2, gen_random_uuid(), now())`,
      [id, randomBytes(32)],
    )
  }
  await signInAs("admin")
  for (const [view, query, account] of [
    ["Past due", "status=past_due", late],
    ["Cancels at period end", "cancelAtPeriodEnd=true", leaving],
    ["Ended in the last 30 days", `churnedSince=${daysAgo(29)}`, gone],
    ["No call for 14 days", "idleDays=14", quiet],
  ] as const) {
    await page.goto("/admin/subscriptions")
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }).click()
    await expect(page).toHaveURL(`/admin/subscriptions?${query}`)
    await expect(page.getByRole("link", { name: view, exact: true })).toHaveAttribute("aria-current", "true")
    await page.getByRole("searchbox").fill(prefix)
    await page.keyboard.press("Enter")
    await expect(page).toHaveURL(new RegExp(`q=${prefix}&${query}$`))
    await expect(rows(page)).toHaveText([account.email])
  }
  await page.goto(`/admin/subscriptions?q=${leaving.email}`)
  await expect(page.locator("td[data-label=Cancels]")).toHaveText("Yes")
})

test("an empty result leads back to all rows", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto(`/admin/users?q=${randomUUID()}`)
  await expect(page.getByText("Nothing matches")).toBeVisible()
  await page.getByRole("link", { name: "Clear filters" }).click()
  await expect(page).toHaveURL("/admin/users")
})

test("an address is shown completely where there is room, regardless of the rest of its row", { tag: "@long" }, async ({
  page,
  signInAs,
  database,
}) => {
  const email = `a-rather-long-address-${randomBytes(4).toString("hex")}@example.org`
  await createAccount(database, { email })
  await signInAs("admin")
  await page.goto(`/admin/users?q=${email}`)
  const address = rows(page).locator("bdi").last()
  await expect(address).toHaveText(email)
  expect(await address.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)).toBeLessThanOrEqual(1)
  expect((await address.boundingBox())?.height).toBeLessThan(30)
  if (!isPresent("/admin/waitlist")) return
  await database.query(
    "INSERT INTO waitlist_entries (id, email, source, note) VALUES (gen_random_uuid(), $1, $2, $3)",
    [email, "s".repeat(64), "n".repeat(300)],
  )
  await page.goto(`/admin/waitlist?q=${email}`)
  expect((await rows(page).first().locator("bdi").boundingBox())?.height).toBeLessThan(30)
})

test("the equivalent API request is shown completely and from its start on a phone", { tag: "@long" }, async ({
  page,
  signInAs,
}) => {
  await page.setViewportSize(narrow)
  await signInAs("admin")
  await page.goto("/admin/orders?status=paid&kind=subscription&since=2026-01-01&until=2026-12-31&order=asc")
  const field = page.getByLabel("Equivalent API request")
  await field.focus()
  const hidden = await field.evaluate((element) => [
    element.scrollWidth - element.clientWidth,
    element.scrollHeight - element.clientHeight,
    element.scrollLeft,
    element.scrollTop,
  ])
  expect(hidden).toEqual([0, 0, 0, 0])
})

test("on a phone a new key is shown completely, and so is the last line of its example", { tag: "@long" }, async ({
  page,
  context,
  customer,
}) => {
  await page.setViewportSize(narrow)
  await context.addCookies(customer.cookies)
  await page.goto("/api-keys")
  await createKey(page, uniqueName("Narrow"))
  for (const label of ["New API key", "Request in curl"]) {
    const field = page.getByLabel(label)
    const hidden = await field.evaluate(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => [
      scrollWidth - clientWidth,
      scrollHeight - clientHeight,
    ])
    expect(hidden, label).toEqual([0, 0])
  }
  await saved(page)
})

test("a subscription that is past due does not renew", { tag: "@long" }, async ({ page, signInAs, database }) => {
  const { id } = await createAccount(database)
  await subscribe(database, id, "past_due")
  await signInAs("admin")
  await page.goto(`/admin/users/${id}`)
  await expect(page.getByRole("main")).toContainText(/Period ends \d+ \w+ \d{4}/)
  await expect(page.getByRole("main")).not.toContainText("renews")
})

test("a revoked key does not expire any more", { tag: "@long" }, async ({ page, context, customer }) => {
  const name = uniqueName("Revoked early")
  await context.addCookies(customer.cookies)
  await page.goto("/api-keys")
  await createKey(page, name)
  await saved(page)
  const expires = row(page, name).locator("[data-label=Expires]")
  await expect(expires).toHaveText(/in \d+ days/)
  await press(rowButton(page, name, "Revoke"))
  await page.getByRole("button", { name: "Revoke key" }).click()
  await expect(page.getByText(`The key “${name}” is revoked.`)).toBeVisible()
  await page.goto("/api-keys?show=all")
  await expect(expires).toHaveText("–none")
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("menus open, filters apply, headings sort and rows open", async ({ page, signInAs, database }) => {
    const { id, email } = await createAccount(database)
    await signInAs("admin")
    await page.goto("/admin/subscriptions")
    await filterWithoutScript(page, "Status", "Canceled")
    await expect(page).toHaveURL("/admin/subscriptions?status=canceled")
    await page.getByRole("columnheader", { name: "Started" }).getByRole("link").click()
    await expect(page).toHaveURL("/admin/subscriptions?status=canceled&order=asc")
    await clickBlank(page.getByRole("row").nth(1))
    await expect(page).toHaveURL(/\/admin\/users\//)
    await page.goto("/admin/credits")
    await page.getByRole("searchbox", { name: "Account" }).fill(email)
    await page.keyboard.press("Enter")
    await expect(page).toHaveURL(`/admin/credits?userId=${id}`)
    await page.getByRole("button", { name: "Date" }).click()
    await page.getByRole("link", { name: "Today" }).click()
    await expect(page).toHaveURL(`/admin/credits?userId=${id}&since=${daysAgo(0)}`)
  })
})
