import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { expect } from "@playwright/test"
import { collect, serve, waitForServer } from "@/scripts/build-and-serve"
import { freePort, runtimeUrlOf } from "@/scripts/postgres"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { test, uniqueEmail, uniqueName } from "./fixtures"
import { saved, shownKey } from "./key-page"

// The demo without a mail server, so that its emails are in its mailbox, and without a proxy, so that the newcomer may
// read the mailbox.
test.use({ extraHTTPHeaders: {} })

test("a newcomer signs up, opens the email in the mailbox, makes a key and calls the API", async ({
  page,
  request,
}) => {
  const port = await freePort()
  const DATABASE_URL = runtimeUrlOf(readFileSync(String(process.env.E2E_DATABASE_FILE), "utf8"))
  const server = serve(port, { DATABASE_URL, AUTH_SECRET: randomBytes(32).toString("hex") })
  const output = collect(server)
  const base = `http://localhost:${port}`
  try {
    expect(await waitForServer(server, base), output()).toBe(true)
    const email = uniqueEmail()
    await page.goto(`${base}/sign-up`)
    await page.getByLabel("Name").fill("Nova Newcomer")
    await page.getByLabel("Email").fill(email)
    await page.getByLabel("Password").fill("four words make sense")
    await page.getByRole("button", { name: "Create account" }).click()
    await expect(page.getByRole("heading", { name: "Check your email" })).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)

    await page.getByRole("link", { name: "open the mailbox" }).click()
    const received = page.getByRole("listitem").filter({ hasText: email })
    await expect(received).toContainText("Confirm your email address")
    await expectAccessibleWithoutSidewaysScroll(page)
    await received.getByRole("link", { name: "/verify/" }).click()
    await expect(page.getByText(`This finishes the sign-up of ${email}.`)).toBeVisible()
    await expect(page.getByLabel("Password")).toHaveCount(0)
    await expectAccessibleWithoutSidewaysScroll(page)
    await page.getByRole("button", { name: "Confirm address" }).click()
    await expect(page).toHaveURL(`${base}/api-keys?new`)
    await page.getByLabel("Name").fill(uniqueName("First"))
    await page.getByRole("button", { name: "Create key" }).click()
    const key = await shownKey(page)
    await saved(page)
    const response = await request.get(`${base}/api/v1/me`, { headers: { Authorization: `Bearer ${key}` } })
    expect([response.status(), await response.json()]).toMatchObject([200, { data: { email } }])
  } finally {
    await server.stop()
  }
})
