import { expect } from "@playwright/test"
import { test, uniqueName } from "@/e2e/fixtures"
import { createKey, outcome } from "@/e2e/key-page"
import { kinds } from "@/lib/surfaces"

const rows = [
  { surface: "user", path: "/mcp/me", tools: /get_account, read_rows/ },
  { surface: "admin", path: "/mcp/admin", tools: /describe_data, .*read_rows/ },
] as const

for (const { surface, path, tools } of rows) {
  test(`a new key of the ${surface} surface has the setup of each client, and a test call shows its tools`, async ({
    page,
    signUp,
    signInAs,
  }) => {
    if (surface === "admin") await signInAs("finance")
    else await signUp()
    await page.goto(kinds[surface].page)
    const key = await createKey(page, uniqueName("Agent"))
    await page.getByLabel("Call", { exact: true }).selectOption(path)
    for (const client of ["Claude", "Claude Code", "Cursor", "VS Code", "Codex"]) {
      await page.getByRole("tab", { name: client, exact: true }).click()
      const setup = page.getByLabel(`Setup of ${client}`, { exact: true })
      await expect(setup).toHaveValue(new RegExp(`${path}`))
      await expect(setup).toHaveValue(new RegExp(key))
    }
    await page.getByRole("button", { name: "Run this call" }).click()
    await expect(outcome(page)).toContainText(tools)
  })
}
