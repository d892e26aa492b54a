import { expect } from "@playwright/test"
import { test, uniqueName } from "./fixtures"
import { hiddenFields } from "./forms"
import { createKey, openDialog, saved } from "./key-page"
import { isPresent } from "./pages"

test("pages ask for a sign-in and lead back", async ({ page, customer }) => {
  await page.goto("/admin/api-keys?new")
  await expect(page).toHaveURL(/\/sign-in\?callbackUrl=%2Fadmin%2Fapi-keys$/)
  await page.goto("/api-keys")
  await page.getByLabel("Email").fill(customer.email)
  await page.getByLabel("Password").fill(customer.password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible()
})

for (const role of ["member", "support"] as const) {
  test(`403 for ${role} on the admin key page, naming the permission`, async ({ page, signInAs }) => {
    await signInAs(role)
    const answer = await page.goto("/admin/api-keys")
    expect(answer?.status()).toBe(403)
    await expect(page.getByRole("heading", { name: "Your role does not open this page" })).toBeVisible()
    await expect(page.getByRole("main")).toContainText("api_keys.manage")
    await expect(page.getByRole("button", { name: "Create key" })).toHaveCount(0)
  })
}

for (const role of ["member", "support", "bookkeeper", "admin"] as const) {
  test(`the account's part of the sidebar is the same for ${role} as for everyone`, async ({ page, signInAs }) => {
    await signInAs(role)
    await page.goto("/api-keys")
    const links = page.getByRole("navigation", { name: "Your account" }).getByRole("link")
    const shown = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
    const pages = ["/account", "/api-keys", "/account/credits", "/feedback", "/account/orders", "/account/security"]
    expect(shown).toEqual(pages.filter(isPresent))
    await expect(page.locator("[aria-current=page]")).toHaveText("API keys")
  })
}

test("a banned account is signed out on the next action and the next page", async ({ page, signUp, database }) => {
  const { email } = await signUp()
  await page.goto("/api-keys")
  const kept = uniqueName("Kept")
  await createKey(page, kept)
  await saved(page)
  // The list asked for when the reveal closed could meet the ban before the action does.
  await page.goto("/api-keys")
  const dialog = await openDialog(page)
  await dialog.getByLabel("Name").fill("Too late")
  await database.query("UPDATE users SET status = 'banned' WHERE email = $1", [email])
  await dialog.getByRole("button", { name: "Create key" }).click()
  await expect(dialog.getByRole("alert")).toContainText("You are signed out.")
  await dialog.getByRole("button", { name: "Cancel" }).click()
  await page.goto("/api-keys")
  await expect(page).toHaveURL(/\/sign-in/)
  expect(await keysOf(database, email)).toEqual([{ name: kept, revoked: false }])
})

test("a demotion acts at once: on the open page's actions, on the page, in the sidebar", async ({
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

test.describe("an action that no page of ours sent", () => {
  for (const [what, origin] of [
    ["without an origin", undefined],
    ["from another site", "https://evil.example"],
    ["from a sandboxed frame", "null"],
  ] as const) {
    test(`${what} does nothing`, async ({ page, signUp, database, browser, baseURL }) => {
      const { email, cookies } = await signUp()
      await page.goto("/api-keys")
      const kept = uniqueName("Kept")
      await createKey(page, kept)
      await saved(page)

      const plain = await browser.newContext({ baseURL: String(baseURL), javaScriptEnabled: false })
      await plain.addCookies(cookies)
      const form = await plain.newPage()
      const send = async (path: string, fields: Record<string, string>) => {
        await form.goto(path)
        const multipart = { ...(await hiddenFields(form)), ...fields }
        const answer = await plain.request.post(path, { multipart, headers: origin ? { Origin: origin } : {} })
        return answer.text()
      }
      expect(await send("/api-keys?new", { name: "Forged", expires: "90d", date: "" })).not.toContain("New API key")
      const revoke = await database.query("SELECT id FROM api_keys WHERE name = $1", [kept])
      await send(`/api-keys?revoke=${revoke.rows[0].id}`, {})
      expect(await keysOf(database, email)).toEqual([{ name: kept, revoked: false }])
      await plain.close()
    })
  }

  test("the same request with our origin is carried out: the test above refuses for the origin alone", async ({
    page,
    signUp,
    database,
    baseURL,
  }) => {
    const { email } = await signUp()
    await page.goto("/api-keys?new")
    const multipart = { ...(await hiddenFields(page)), name: "Sent by hand", expires: "90d", date: "" }
    const answer = await page.request.post("/api-keys?new", { multipart, headers: { Origin: String(baseURL) } })
    expect(answer.headers()["cache-control"]).toContain("no-store")
    expect(await answer.text()).toContain("New API key")
    expect(await keysOf(database, email)).toEqual([{ name: "Sent by hand", revoked: false }])
  })
})

test("pages carry the headers that keep them from being framed, sniffed or leaked", async ({ request }) => {
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

test("scripts run by a nonce alone, made anew for each request, whatever the client says it is", async ({
  request,
}) => {
  const given = "YXR0YWNrZXJhdHRhY2tlcg=="
  const nonces = new Set<string>()
  for (const path of ["/", "/sign-in", "/docs", "/reset-password/x", "/nowhere"]) {
    const answer = await request.get(path, {
      headers: {
        "x-nonce": given,
        "content-security-policy": `script-src 'nonce-${given}'`,
        "content-security-policy-report-only": `script-src 'nonce-${given}'`,
      },
    })
    const { "content-security-policy": policy = "" } = answer.headers()
    const [scripts = ""] = policy.split("; ").filter((directive) => directive.startsWith("script-src "))
    expect(scripts).toMatch(/^script-src 'self' 'nonce-[\w+/]{22}==' 'strict-dynamic'$/)
    const nonce = /'nonce-(.+?)'/.exec(scripts)?.[1] ?? ""
    nonces.add(nonce)
    const html = await answer.text()
    const tags = html.match(/<script\b[^>]*>/g) ?? []
    expect(tags.length).toBeGreaterThan(3)
    for (const tag of tags) expect(tag).toContain(`nonce="${nonce}"`)
    expect(html).not.toContain(given)
  }
  expect(nonces).not.toContain(given)
  expect(nonces.size).toBe(5)
})

test("a script that got into a page does not run", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: String(baseURL) })
  const page = await context.newPage()
  const refused = page.waitForEvent("console", (message) => message.text().includes("Content Security Policy"))
  await page.route("/sign-in", async (route) => {
    const answer = await route.fetch()
    const injected = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
    await route.fulfill({ response: answer, body: (await answer.text()).replace("</body>", `${injected}</body>`) })
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
