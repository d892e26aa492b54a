import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { expect, type Locator } from "@playwright/test"
import { collect, serve, waitForServer } from "@/scripts/build-and-serve"
import { freePort, runtimeUrlOf } from "@/scripts/postgres"
import { expectAccessibleWithoutSidewaysScroll } from "./accessibility"
import { test, uniqueEmail, uniqueName } from "./fixtures"
import { outcome, saved } from "./key-page"

// The demo without a mail server, so that its emails are in its mailbox, and without a proxy, so that the newcomer may
// read the mailbox.
test.use({ extraHTTPHeaders: {} })

test("from the start page, a newcomer signs up, makes a key and sees the result of the first paid call within 7 clicks", async ({
  page,
}) => {
  let clicks = 0
  const click = (target: Locator) => {
    clicks++
    return target.click()
  }
  const port = await freePort()
  const DATABASE_URL = runtimeUrlOf(readFileSync(String(process.env.E2E_DATABASE_FILE), "utf8"))
  const server = serve(port, { DATABASE_URL, AUTH_SECRET: randomBytes(32).toString("hex") })
  const output = collect(server)
  const base = `http://localhost:${port}`
  try {
    expect(await waitForServer(server, base), output()).toBe(true)
    const email = uniqueEmail()
    await page.goto(base)
    await click(page.getByRole("link", { name: "Create account" }).first())
    await page.getByLabel("Name").fill("Nova Newcomer")
    await page.getByLabel("Email").fill(email)
    await page.getByLabel("Password").fill("four words make sense")
    await click(page.getByRole("button", { name: "Create account" }))
    await expect(page.getByRole("heading", { name: "Check your email" })).toBeVisible()
    await expectAccessibleWithoutSidewaysScroll(page)

    // In the place of the newcomer's own mailbox, so it is not counted.
    await page.getByRole("link", { name: "open the mailbox" }).click()
    const received = page.getByRole("listitem").filter({ hasText: email })
    await expect(received).toContainText("Confirm your email address")
    await expectAccessibleWithoutSidewaysScroll(page)
    await click(received.getByRole("link", { name: "/verify/" }))
    await expect(page.getByText(`This finishes the sign-up of ${email}.`)).toBeVisible()
    await expect(page.getByLabel("Password")).toHaveCount(0)
    await expectAccessibleWithoutSidewaysScroll(page)
    await click(page.getByRole("button", { name: "Confirm address" }))
    await expect(page).toHaveURL(`${base}/api-keys?new`)
    await expect(page.getByLabel("Name")).toBeFocused()
    await page.keyboard.type(uniqueName("First"))
    await click(page.getByRole("button", { name: "Create key" }))
    await click(page.getByRole("button", { name: /^Run for up to/ }))
    await expect(outcome(page)).toContainText(/\d credits? · \d+ left$/)
    expect(clicks).toBeLessThanOrEqual(7)
    await saved(page)
  } finally {
    await server.stop()
  }
})
