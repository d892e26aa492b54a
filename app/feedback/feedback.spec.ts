import { expect, type Page } from "@playwright/test"
import { expectAccessibleWithoutSidewaysScroll } from "@/e2e/accessibility"
import { keyOf, test, uniqueName } from "@/e2e/fixtures"
import { hiddenFields } from "@/e2e/forms"
import { emailTo } from "@/e2e/mail"
import { hydrated } from "@/e2e/pages"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { scripting } from "@/tests/support/sample"

for (const javaScriptEnabled of scripting) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled })

    test("staff reply to feedback by email, which marks it as reviewed, and resolve it", { tag: "@long" }, async ({
      page,
      signUp,
      signInAs,
      database,
    }) => {
      const { email } = await signUp()
      const text = uniqueName("Slow")
      await database.query(
        "INSERT INTO feedback (id, user_id, rating, message) SELECT gen_random_uuid(), id, 2, $1 FROM users WHERE email = $2",
        [text, email],
      )
      await signInAs("support")
      // A list that the row stays in when its status changes.
      const list = `/admin/feedback?q=${encodeURIComponent(email)}`
      await page.goto(list)
      const row = page.getByRole("row").filter({ hasText: text })
      const dialog = (name: string) => page.getByRole(javaScriptEnabled ? "dialog" : "region", { name })
      await row.getByRole("button", { name: "Reply" }).click()
      await expect(dialog("Reply to this feedback")).toContainText(`${email} rated 2 of 5 and wrote:${text}`)
      await page.getByLabel("Reply", { exact: true }).fill("It is faster now.\n\nThank you.")
      await dialog("Reply to this feedback").getByRole("button", { name: "Send reply" }).click()
      await expect(page.getByText("Reply sent.")).toBeVisible()
      const reply = await emailTo(email, `Re: your feedback on ${product.name}`)
      expect(reply).toContain("It is faster now.")
      expect(reply).toContain(`> ${text}`)

      await page.goto(list)
      await expect(row.getByRole("button", { name: "Mark as reviewed" })).toHaveCount(0)
      await row.getByRole("button", { name: "Resolve" }).click()
      await dialog("Resolve this feedback?").getByRole("button", { name: "Resolve", exact: true }).click()
      await expect(page.getByText("Resolved.", { exact: true })).toBeVisible()
      await page.goto(list)
      await expect(row).toContainText("Resolved")
      if (javaScriptEnabled) await expectAccessibleWithoutSidewaysScroll(page)
      await signInAs("analyst")
      await page.goto(list)
      await expect(row).toBeVisible()
      await expect(page.getByRole("button", { name: "Reply" })).toHaveCount(0)
    })

    test("staff resolve the selected feedback at once, and see the reply with its author and day", {
      tag: "@long",
    }, async ({ page, signUp, signInAs, database }) => {
      const { email } = await signUp()
      await database.query(
        `INSERT INTO feedback (id, user_id, rating, message, status, reply, replied_by_id, replied_at)
         SELECT gen_random_uuid(), u.id, 2, m, 'reviewed', CASE m WHEN 'Slow' THEN 'Faster now' END, s.id, '2026-02-03'
         FROM users u, users s, unnest(ARRAY['Slow', 'Dear', 'Odd']) m WHERE u.email = $1 AND s.email = 'support@example.com'`,
        [email],
      )
      await signInAs("support")
      const list = `/admin/feedback?q=${encodeURIComponent(email)}`
      await page.goto(list)
      const row = (text: string) => page.getByRole("row").filter({ hasText: text })
      await expect(row("Slow")).toContainText(/, 3 Feb 2026: Faster now/)
      for (const text of ["Slow", "Odd"]) await row(text).getByRole("checkbox").check()
      await page.getByRole("group", { name: "Selected rows" }).getByRole("button", { name: "Resolve" }).click()
      const dialog = page.getByRole(javaScriptEnabled ? "dialog" : "region", { name: "Resolve 2 pieces of feedback?" })
      await dialog.getByRole("button", { name: "Resolve", exact: true }).click()
      await expect(page.getByText("Resolved: 2 of 2.")).toBeVisible()
      await page.goto(list)
      await expect(row("Resolved")).toHaveCount(2)
      await expect(row("Dear")).toContainText("Reviewed")
    })

    test("the outcome is shown even if the row leaves a filtered list", { tag: "@long" }, async ({
      page,
      signUp,
      signInAs,
      database,
    }) => {
      const { email } = await signUp()
      await database.query(
        "INSERT INTO feedback (id, user_id, rating, message) SELECT gen_random_uuid(), id, 2, 'Slow' FROM users WHERE email = $1",
        [email],
      )
      await signInAs("support")
      await page.goto(`/admin/feedback?status=new&q=${encodeURIComponent(email)}`)
      await page.getByRole("row", { name: email }).getByRole("button", { name: "Mark as reviewed" }).click()
      const dialog = page.getByRole(javaScriptEnabled ? "dialog" : "region", { name: /^Mark this feedback/ })
      await dialog.getByRole("button", { name: "Mark as reviewed" }).click()
      const message = page.getByText("Marked as reviewed.")
      await expect(message).toBeVisible()
      if (!javaScriptEnabled) return
      await expect(page.getByText("Nothing matches")).toBeVisible()
      await expect(message).toBeVisible()
      await expect(page.getByRole("button", { name: "Dismiss" })).toBeFocused()
    })

    test("feedback appears in the admin API and is stored once", async ({ page, signUp, request, database }) => {
      const { email } = await signUp()
      const text = uniqueName("Fine")
      await page.goto("/feedback")
      await page.getByLabel("4 Good").check()
      await page.getByLabel("Message").fill(`${text}\n\nReally.`)
      await send(page)
      await expect(page.getByRole("heading", { name: "Thank you" })).toBeVisible()
      if (javaScriptEnabled) await expect(page.getByRole("heading", { name: "Thank you" })).toBeFocused()
      // Reloading submits the form again.
      else await page.reload()

      const { rows } = await database.query("SELECT id FROM users WHERE email = $1", [email])
      const response = await request.get(`/api/v1/admin/feedback?userId=${rows[0].id}`, {
        headers: { "x-api-key": keyOf("owner") },
      })
      expect((await response.json()).data).toMatchObject([{ rating: 4, message: `${text}\n\nReally.`, status: "new" }])

      await page.getByRole("link", { name: "Send more feedback" }).click()
      await expect(page.getByLabel("Message")).toHaveValue("")
    })

    test("errors appear at their fields and the input is kept", async ({ page, context, customer }) => {
      await context.addCookies(customer.cookies)
      await page.goto("/feedback")
      // Removes the browser's own validation to test the server's.
      await page.locator("[required]").evaluateAll((fields) => fields.map((field) => field.removeAttribute("required")))
      const text = `First line\nmy key ${kinds.user.prefix}${"x".repeat(20)}`
      await page.getByLabel("Message").fill(text)
      await send(page)
      await expect(
        page.getByRole("group", { name: `How would you rate ${product.name}?` }),
      ).toHaveAccessibleDescription("Choose a rating.")
      await expect(page.getByLabel("Message")).toHaveAccessibleDescription(/must not contain an API key/)
      await expect(page.getByLabel("Message")).toHaveValue(text)
      if (javaScriptEnabled) await expect(page.getByLabel("1 Bad")).toBeFocused()
      await page.getByLabel("2 Poor").check()
      await send(page)
      await expect(page.getByLabel("2 Poor")).toBeChecked()
      await expect(page.getByLabel("Message")).toHaveValue(text)
      if (javaScriptEnabled) await expect(page.getByLabel("Message")).toBeFocused()
    })
  })
}

test("a lost request, an ended session and the rate limit each show a message and keep the input", {
  tag: "@long",
}, async ({ page, signUp }) => {
  const { cookies } = await signUp()
  await page.goto("/feedback")
  await hydrated(page)
  const text = uniqueName("Kept")
  await page.getByLabel("5 Great").check()
  await page.getByLabel("Message").fill(text)
  const expectMessage = async (message: string) => {
    await send(page)
    await expect(page.getByRole("main").getByRole("alert")).toContainText(message)
    await expect(page.getByLabel("5 Great")).toBeChecked()
    await expect(page.getByLabel("Message")).toHaveValue(text)
  }
  await page.route("**/feedback", (route) => route.abort())
  await expectMessage("There was no response.")
  await page.unroute("**/feedback")
  await page.context().clearCookies()
  await expectMessage("You are signed out.")
  await page.context().addCookies(cookies)
  const multipart = { ...(await hiddenFields(page)), rating: "3" }
  for (let count = 0; count < 10; count++) {
    const headers = { Origin: new URL(page.url()).origin }
    await page.request.post("/feedback", { multipart: { ...multipart, message: `${count}` }, headers })
  }
  await expectMessage("much feedback within an hour")
})

test("the arrow keys choose the rating", { tag: "@long" }, async ({ page, context, customer }) => {
  await context.addCookies(customer.cookies)
  await page.goto("/feedback")
  await page.getByLabel("1 Bad").focus()
  await page.keyboard.press("ArrowRight")
  await page.keyboard.press("ArrowRight")
  await expect(page.getByLabel("3 Fair")).toBeChecked()
  await page.keyboard.press("Tab")
  await expect(page.getByLabel("Message")).toBeFocused()
})

test("an error and the thanks are accessible and do not scroll sideways", { tag: "@long" }, async ({
  page,
  context,
  customer,
}) => {
  await context.addCookies(customer.cookies)
  await page.goto("/feedback")
  await page.getByLabel("2 Poor").check()
  await page.getByLabel("Message").fill("\u200b")
  await send(page)
  await expect(page.getByText("a visible character")).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
  await page.getByLabel("Message").fill(uniqueName("Looks"))
  await send(page)
  await expect(page.getByRole("heading", { name: "Thank you" })).toBeVisible()
  await expectAccessibleWithoutSidewaysScroll(page)
})

async function send(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Send feedback" }).click()
}
