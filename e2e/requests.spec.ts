import { type APIRequestContext, expect, type Page } from "@playwright/test"
import { expectNoViolations, narrow } from "./accessibility"
import { test, uniqueName } from "./fixtures"
import { createKey, saved } from "./key-page"

const list = "/account/requests"
const rows = (page: Page) => page.getByRole("table", { name: "Requests" }).locator("tbody tr")
const sheet = (page: Page) => page.getByRole("dialog")

/** Three requests of a new account: the newest one succeeded. @returns the ids of the responses, newest first */
async function send(page: Page, request: APIRequestContext): Promise<string[]> {
  await page.goto("/api-keys")
  const headers = { Authorization: `Bearer ${await createKey(page, uniqueName("Logged"))}` }
  await saved(page)
  const ids: string[] = []
  for (const path of ["/api/v1/me/order", "/api/v1/me/orders?colour=red", "/api/v1/me"]) {
    ids.unshift((await request.get(path, { headers })).headers()["x-request-id"] ?? "")
  }
  await expect(async () => {
    await page.goto(list)
    expect(await rows(page).count()).toBe(3)
  }).toPass()
  return ids
}

test("a row opens its request beside the list; the arrows, j and k go to its neighbors, and Escape leads back to its row", async ({
  page,
  request,
  signUp,
}) => {
  await signUp({ credits: 0 })
  const ids = await send(page, request)
  await page.goto(`${list}?status=failed`)
  await expect(rows(page)).toHaveCount(2)
  const link = rows(page).nth(0).getByRole("link", { name: "GET /api/v1/me/orders" })
  await link.focus()
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(`${list}/${ids[1]}`)
  await expect(sheet(page)).toHaveAccessibleName("GET /api/v1/me/orders")
  await expect(sheet(page)).toContainText('Unknown parameter "colour".')
  await expect(sheet(page).getByRole("figure", { name: "As curl" }).locator("code")).toHaveText(
    /^curl ".+\/api\/v1\/me\/orders"/,
  )
  await expectNoViolations(page)
  await page.keyboard.press("ArrowDown")
  await expect(page).toHaveURL(`${list}/${ids[2]}`)
  await expect(sheet(page)).toContainText("There is nothing at /api/v1/me/order.")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("ArrowUp")
  await expect(page).toHaveURL(`${list}/${ids[1]}`)
  await page.keyboard.press("j")
  await expect(page).toHaveURL(`${list}/${ids[2]}`)
  await page.keyboard.press("k")
  await expect(page).toHaveURL(`${list}/${ids[1]}`)
  await page.keyboard.press("ArrowDown")
  await expect(page).toHaveURL(`${list}/${ids[2]}`)
  await page.keyboard.press("Escape")
  await expect(sheet(page)).toBeHidden()
  await expect(page).toHaveURL(`${list}?status=failed`)
  await expect(rows(page).nth(1).getByRole("link", { name: "GET no endpoint" })).toBeFocused()
  // A reload of its address shows the page.
  await page.goto(`${list}/${ids[0]}`)
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("GET /api/v1/me")
  await page.setViewportSize(narrow)
  await expectNoViolations(page)
})

test("on a phone, the card of a failed request has its path and status in one line, and the reason below", {
  tag: "@long",
}, async ({ page, request, signUp }) => {
  await page.setViewportSize(narrow)
  await signUp({ credits: 0 })
  await send(page, request)
  await page.goto(`${list}?status=400`)
  const texts = ["GET /api/v1/me/orders", "400", /^Unknown parameter "colour"/]
  const boxes = await Promise.all(texts.map((text) => rows(page).getByText(text, { exact: true }).boundingBox()))
  const [path, status, reason] = boxes.map((box) => ({ top: box?.y ?? 0, bottom: (box?.y ?? 0) + (box?.height ?? 0) }))
  expect(status?.top).toBeLessThan(Number(path?.bottom))
  expect(reason?.top).toBeGreaterThanOrEqual(Number(status?.bottom))
  await expect(rows(page).getByRole("link", { name: "GET /api/v1/me/orders" })).toBeInViewport({ ratio: 1 })
})

test("an id from a response leads to its request in the search of the list and in Ctrl K", async ({
  page,
  request,
  signUp,
}) => {
  await signUp({ credits: 0 })
  const [id = ""] = await send(page, request)
  await page.getByRole("searchbox", { name: "Request ID" }).fill(id)
  await page.keyboard.press("Enter")
  await expect(page.getByRole("heading", { name: "GET /api/v1/me", exact: true })).toBeVisible()
  await expect(page).toHaveURL(`${list}/${id}`)
  await page.goto("/account")
  await expect(page.getByRole("button", { name: "Find" })).toBeVisible()
  await page.keyboard.press("Control+k")
  await page.getByRole("combobox").fill(id)
  await expect(page.getByRole("option")).toHaveText([/^GET \/api\/v1\/me/])
  await page.keyboard.press("Enter")
  await expect(page).toHaveURL(`${list}/${id}`)
})

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false })

  test("a row of the requests leads to a page", async ({ page, signInAs }) => {
    await signInAs("member")
    await page.goto(`${list}?status=failed`)
    const link = rows(page).first().getByRole("link").first()
    const name = await link.textContent()
    await link.click()
    await expect(page).toHaveURL(/\/account\/requests\/[0-9a-f-]{36}$/)
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(name?.split("?")[0] ?? "")
    await page.getByRole("link", { name: "All requests" }).click()
    await expect(page).toHaveURL(list)
  })
})
