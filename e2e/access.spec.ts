import { expect } from "@playwright/test"
import { pagesOf } from "@/tests/support/pages"
import { sampled } from "@/tests/support/sample"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { test, uniqueName } from "./fixtures"
import { hiddenFields } from "./forms"
import { choosePermission, createKey, openDialog, saved } from "./key-page"
import { expectSidebar } from "./pages"

test("pages require sign-in and return to the requested page", async ({ page, customer }) => {
  await page.goto("/admin/api-keys?new")
  await expect(page).toHaveURL(/\/sign-in\?callbackUrl=%2Fadmin%2Fapi-keys$/)
  await page.goto("/api-keys")
  await page.getByLabel("Email").fill(customer.email)
  await page.getByLabel("Password").fill(customer.password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible()
})

for (const role of sampled(["member", "support"] as const)) {
  test(`the admin key page returns 403 to ${role} and names the missing permission`, async ({ page, signInAs }) => {
    await signInAs(role)
    const response = await page.goto("/admin/api-keys")
    expect(response?.status()).toBe(403)
    await expect(page.getByRole("heading", { name: "Your role has no access to this page" })).toBeVisible()
    await expect(page.getByRole("main")).toContainText("api_keys.manage")
    await expect(page.getByRole("button", { name: "Create key" })).toHaveCount(0)
    await expectAccessibleWithoutSidewaysScroll(page)
  })
}

for (const role of sampled(["member", "admin", "support", "bookkeeper"] as const, 2)) {
  test(`the account section of the sidebar is the same for ${role} as for every role`, async ({ page, signInAs }) => {
    await signInAs(role)
    await page.goto("/api-keys")
    const links = page.getByRole("navigation", { name: "Your account" }).getByRole("link")
    const shown = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
    expectSidebar(
      shown,
      pagesOf("account").map(({ path }) => path),
    )
    await expect(page.locator("[aria-current=page]")).toHaveText("API keys")
  })
}

test("a banned account is signed out on the next action and the next page", async ({ page, signUp, database }) => {
  const { email } = await signUp()
  await page.goto("/api-keys")
  const kept = uniqueName("Kept")
  await createKey(page, kept)
  await saved(page)
  // Otherwise the list request that saving a key triggers could see the ban before the action does.
  await page.goto("/api-keys")
  const dialog = await openDialog(page)
  await dialog.getByLabel("Name").fill("Too late")
  await choosePermission(dialog)
  await database.query("UPDATE users SET status = 'banned' WHERE email = $1", [email])
  await dialog.getByRole("button", { name: "Create key" }).click()
  await expect(dialog.getByRole("alert")).toContainText("You are signed out.")
  await dialog.getByRole("button", { name: "Cancel" }).click()
  await page.goto("/api-keys")
  await expect(page).toHaveURL(/\/sign-in/)
  expect(await keysOf(database, email)).toEqual([{ name: kept, revoked: false }])
})

test("a demotion takes effect on the next action of an open page, on the page and in the sidebar", async ({
  page,
  signUp,
  database,
}) => {
  const { email } = await signUp()
  const role = (name: string) => database.query("UPDATE users SET role = $1 WHERE email = $2", [name, email])
  await role("analyst")
  await page.goto("/admin/api-keys")
  const dialog = await openDialog(page)
  await dialog.getByLabel("Name").fill("Too late")
  await role("member")
  await dialog.getByRole("button", { name: "Create key" }).click()
  await expect(dialog.getByRole("alert")).toContainText("api_keys.manage")
  expect((await page.reload())?.status()).toBe(403)
  await expect(page.getByRole("navigation", { name: "Administration" })).toHaveCount(0)
  expect(await keysOf(database, email)).toEqual([])
})

test("a form from another origin or without an origin has no effect; the same form from the site's own origin works", async ({
  page,
  signUp,
  database,
  baseURL,
}) => {
  const { email } = await signUp()
  await page.goto("/api-keys?new")
  const multipart = { ...(await hiddenFields(page)), name: "Sent by hand", expires: "90d", date: "", scopes: "read" }
  const send = (headers: Record<string, string>) => page.request.post("/api-keys?new", { multipart, headers })
  const foreign: Record<string, string>[] = [{}, { Origin: "https://evil.example" }, { Origin: "null" }]
  for (const headers of foreign) expect(await (await send(headers)).text()).not.toContain("New API key")
  expect(await keysOf(database, email)).toEqual([])
  const response = await send({ Origin: String(baseURL) })
  expect(response.headers()["cache-control"]).toContain("no-store")
  expect(await response.text()).toContain("New API key")
  expect(await keysOf(database, email)).toEqual([{ name: "Sent by hand", revoked: false }])
})

test("pages have the headers that prevent framing, MIME sniffing and referrer leaks", async ({ request }) => {
  for (const path of ["/", "/sign-in", "/api-keys", "/nowhere"]) {
    const headers = (await request.get(path, { maxRedirects: 0 })).headers()
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "x-frame-options": "DENY",
      "content-security-policy": expect.stringMatching(/frame-ancestors 'none'.*form-action 'self'/),
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": expect.stringContaining("camera=()"),
    })
  }
  const api = (await request.get("/api/v1/me")).headers()
  expect(api["x-frame-options"]).toBeUndefined()
})

test("scripts run only with a nonce that is new for each request and never taken from the client", async ({
  request,
}) => {
  const given = "YXR0YWNrZXJhdHRhY2tlcg=="
  const nonces = new Set<string>()
  for (const path of ["/", "/sign-in", "/docs", "/reset-password/x", "/nowhere"]) {
    const response = await request.get(path, {
      headers: {
        "x-nonce": given,
        "content-security-policy": `script-src 'nonce-${given}'`,
        "content-security-policy-report-only": `script-src 'nonce-${given}'`,
      },
    })
    const { "content-security-policy": policy = "" } = response.headers()
    const [scripts = ""] = policy.split("; ").filter((directive) => directive.startsWith("script-src "))
    expect(scripts).toMatch(/^script-src 'self' 'nonce-[\w+/]{22}==' 'strict-dynamic'$/)
    const nonce = /'nonce-(.+?)'/.exec(scripts)?.[1] ?? ""
    nonces.add(nonce)
    const html = await response.text()
    const tags = html.match(/<script\b[^>]*>/g) ?? []
    expect(tags.length).toBeGreaterThan(3)
    for (const tag of tags) expect(tag).toContain(`nonce="${nonce}"`)
    expect(html).not.toContain(given)
  }
  expect(nonces).not.toContain(given)
  expect(nonces.size).toBe(5)
})

test("a script injected into a page does not run", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: String(baseURL) })
  const page = await context.newPage()
  const refused = page.waitForEvent("console", (message) => message.text().includes("Content Security Policy"))
  await page.route("/sign-in", async (route) => {
    const response = await route.fetch()
    const injected = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
    await route.fulfill({ response, body: (await response.text()).replace("</body>", `${injected}</body>`) })
  })
  await page.goto("/sign-in")
  await refused
  expect(await page.evaluate("window.ran")).toBeUndefined()
  await context.close()
})

async function keysOf(database: import("pg").Client, email: string) {
  const { rows } = await database.query(
    `SELECT api_keys.name, revoked_at IS NOT NULL AS revoked
     FROM api_keys JOIN users ON users.id = user_id WHERE email = $1 ORDER BY api_keys.created_at`,
    [email],
  )
  return rows
}
