import { randomBytes } from "node:crypto"
import { type APIRequestContext, expect, type Page } from "@playwright/test"
import { expectAccessibleWithoutSidewaysScroll } from "@/e2e/accessibility"
import { keyOf, test, uniqueEmail } from "@/e2e/fixtures"
import { emailTo } from "@/e2e/mail"
import { scripting } from "@/tests/support/sample"

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("staff invite an address, which gets one email with a link to sign up", async ({
      page,
      signInAs,
      database,
    }) => {
      const email = uniqueEmail()
      const insert = "INSERT INTO waitlist_entries (id, email, source) VALUES (gen_random_uuid(), $1, 'blog')"
      await database.query(insert, [email])
      await signInAs("support")
      await page.goto(`/admin/waitlist?q=${encodeURIComponent(email)}`)
      await page.getByRole("row").filter({ hasText: email }).getByRole("button", { name: "Invite" }).click()
      await expect(page.getByText(`${email} gets an email with a link to sign up.`)).toBeVisible()
      await page.getByRole("button", { name: "Send invitation" }).click()
      await expect(page.getByText(`${email} is invited.`)).toBeVisible()
      expect(await emailTo(email, "You can now sign up")).toContain("/sign-up")
      await page.goto("/admin/waitlist?status=invited")
      const row = page.getByRole("row").filter({ hasText: email })
      await expect(row).toContainText("Invited")
      await expect(row.getByRole("button", { name: "Invite again" })).toBeVisible()
    })

    test("staff invite the selected addresses at once", async ({ page, signInAs, database }) => {
      const word = randomBytes(8).toString("hex")
      const emails = [1, 2, 3].map((number) => `${word}-${number}@example.com`)
      const insert =
        "INSERT INTO waitlist_entries (id, email, source) SELECT gen_random_uuid(), unnest($1::text[]), 'blog'"
      await database.query(insert, [emails])
      await signInAs("support")
      await page.goto(`/admin/waitlist?q=${word}`)
      const invite = page.getByRole("group", { name: "Selected rows" }).getByRole("button", { name: "Invite" })
      await expect(invite).toHaveCount(0)
      for (const email of emails.slice(1)) await page.getByRole("checkbox", { name: `Select ${email}` }).check()
      await invite.click()
      const confirmation = page.getByRole(javaScriptEnabled ? "dialog" : "region", {
        name: "Invite these 2 addresses?",
      })
      for (const [index, email] of emails.entries()) {
        const named = confirmation.getByText(email)
        await expect(named).toHaveCount(index === 0 ? 0 : 1)
      }
      await confirmation.getByRole("button", { name: "Send 2 invitations" }).click()
      await expect(page.getByText("2 addresses are invited.")).toBeVisible()
      await page.goto(`/admin/waitlist?q=${word}&order=asc`)
      await expect(page.getByRole("row").getByText("Invite again")).toHaveCount(2)
      const audited = await database.query(
        "SELECT FROM audit_entries a JOIN waitlist_entries w ON w.id::text = target_id WHERE action = 'waitlist.invited' AND w.email LIKE $1",
        [`${word}%`],
      )
      expect(audited.rowCount).toBe(2)
    })

    test("an entry appears in the admin API, and joining again shows the same page and changes nothing", {
      tag: "@long",
    }, async ({ page, request }) => {
      const email = uniqueEmail()
      const responses: unknown[] = []
      for (const [source, note] of [
        ["conference", "We are 12.\nSoon?"],
        ["blog", "Not me"],
      ] as const) {
        await page.goto(`/waitlist?source=${source}`)
        await page.getByLabel("Email").fill(email)
        await page.getByLabel("Note (optional)").fill(note)
        const posted = page.waitForResponse((response) => response.request().method() === "POST")
        await join(page)
        await expect(page.getByRole("heading", { name: "You are on the waitlist" })).toBeVisible()
        const { pathname } = new URL(page.url())
        responses.push([(await posted).status(), pathname, await page.getByRole("main").textContent()])
      }
      expect(responses[1]).toEqual(responses[0])
      expect(await entriesOf(request, "conference", email)).toMatchObject([
        { note: "We are 12.\nSoon?", status: "waiting", invitedAt: null },
      ])
      expect(await entriesOf(request, "blog", email)).toEqual([])
    })

    test("errors appear at their fields and the input is kept", { tag: "@long" }, async ({ page }) => {
      await page.goto("/waitlist")
      const note = "x".repeat(501)
      await page.getByLabel("Email").fill("ann@localhost")
      await page.getByLabel("Note (optional)").fill(note)
      await join(page)
      await expect(page.getByLabel("Email")).toHaveAccessibleDescription(/like name@example.com/)
      await expect(page.getByLabel("Note (optional)")).toHaveAccessibleDescription(/can have at most 500 characters/)
      await expect(page.getByLabel("Email")).toHaveValue("ann@localhost")
      await expect(page.getByLabel("Note (optional)")).toHaveValue(note)
      if (javaScriptEnabled) await expect(page.getByLabel("Email")).toBeFocused()
    })
  })
}

test("a signed-in viewer can also join", { tag: "@long" }, async ({ page, context, customer, request }) => {
  await context.addCookies(customer.cookies)
  const email = uniqueEmail()
  await page.goto("/waitlist?source=%3Cscript%3E")
  await page.getByLabel("Email").fill(email.toUpperCase())
  await join(page)
  await expect(page.getByRole("heading", { name: "You are on the waitlist" })).toBeVisible()
  expect(await entriesOf(request, "website", email)).toMatchObject([{ note: null }])
})

test("an error and the thanks are accessible and do not scroll sideways", { tag: "@long" }, async ({ page }) => {
  await page.goto("/waitlist")
  await page.getByLabel("Email").fill(uniqueEmail())
  await page.getByLabel("Note (optional)").fill("\u200b")
  await join(page)
  await expect(page.getByText("a visible character")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByLabel("Note (optional)").fill("")
  await join(page)
  await expect(page.getByRole("heading", { name: "You are on the waitlist" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
})

async function join(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Join the waitlist" }).click()
}

/** The admin API's entries for an address and a source. */
async function entriesOf(request: APIRequestContext, source: string, address: string) {
  const response = await request.get(`/api/v1/admin/waitlist?limit=500&source=${source}`, {
    headers: { "x-api-key": keyOf("owner") },
  })
  const { data } = (await response.json()) as { data: { email: string }[] }
  return data.filter(({ email }) => email === address)
}
