import { randomBytes, randomUUID } from "node:crypto"
import { expect, type Locator } from "@playwright/test"
import { createAccount, test } from "@/e2e/fixtures"
import { hydrated } from "@/e2e/pages"
import { kinds } from "@/lib/surfaces"
import { isPresent } from "@/tests/support/pages"

test("the audit log's filter groups actions by subject", { tag: "@long" }, async ({ page, signInAs }) => {
  await signInAs("admin")
  await page.goto("/admin/audit?action=api_key.issued")
  await expect(page.getByRole("link", { name: "Remove Action: API key created" })).toBeVisible()
  await hydrated(page)
  await page.getByRole("button", { name: "Filters" }).click()
  const action = page.getByLabel("Action", { exact: true })
  await expect(action).toHaveValue("api_key.issued")
  await expect(action.locator("optgroup[label='Account'] option").first()).toHaveText("Signed up")
  await action.selectOption("credits.granted")
  await expect(page).toHaveURL("/admin/audit?action=credits.granted")
})

test("the audit log shows each action, its exact time, its target and every detail", async ({
  page,
  signInAs,
  database,
}) => {
  const { id, email } = await createAccount(database)
  const [key, feedback, staffReason] = [randomUUID(), randomUUID(), "leaked"]
  const start = `${kinds.user.prefix}${randomBytes(2).toString("hex")}`
  await database.query(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
     VALUES ($1, $2, 'user', 'Night shift', $3, $4, gen_random_uuid())`,
    [key, id, start, randomBytes(32)],
  )
  const entries = [
    ["api_key.revoked", "api_key", key, { start, surface: "user", reason: "not_needed", ownerId: id }],
    ["credits.granted", "user", id, { amount: 1500, balance: 1600, reason: staffReason }],
    ["feedback.resolved", "user", id, { feedbackId: feedback }],
  ] as const
  // The database dates entries itself, in a trigger.
  await database.query("SET session_replication_role = replica")
  for (const [index, [action, type, target, details]] of entries.entries()) {
    await database.query(
      `INSERT INTO audit_entries (id, actor_id, action, target_type, target_id, details, created_at)
       VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, $6)`,
      [id, action, type, target, details, `2025-03-04T05:06:0${index}Z`],
    )
  }
  await database.query("RESET session_replication_role")
  await signInAs("admin")
  await page.goto(`/admin/audit?actorId=${id}&order=asc`)
  const [revoked, granted, resolved] = [1, 2, 3].map((index) => page.getByRole("row").nth(index)) as [
    Locator,
    Locator,
    Locator,
  ]
  await expect(revoked.locator("time")).toHaveText("4 Mar 2025 05:06:00 UTC")
  await expect(revoked.locator("[data-label=Action]")).toHaveText("Key revokedapi_key.revoked")
  await expect(revoked.getByRole("link", { name: "Night shift" })).toHaveAttribute("href", `/admin/api-keys/${key}`)
  await expect(revoked.getByRole("term")).toHaveText(["Reason"])
  await revoked.getByText("3 more").click()
  await expect(page).toHaveURL(/actorId/)
  await expect(revoked.getByRole("term")).toHaveText(["Reason", "Key", "Type of key", "Owner"])
  await expect(revoked.getByRole("definition")).toHaveText(["No longer needed", `${start}…`, "API key", email])
  await expect(granted.locator("[data-label=Action]")).toContainText("1,500 credits granted")
  await granted.getByText("2 more").click()
  await expect(granted.getByRole("definition")).toHaveText(["1,500", staffReason, "1,600"])
  await expect(resolved.locator("[data-label=Target]")).toHaveText(email)
  if (isPresent("/admin/feedback"))
    await expect(resolved.locator("[data-label=Details]").getByRole("link")).toHaveAttribute(
      "href",
      `/admin/feedback?q=${feedback}`,
    )
})
