import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { root } from "@/scripts/root"
import { demoAccounts, demoKey } from "./demo-accounts"

test("README.md prints the key of the demo's member", async () => {
  const member = demoAccounts.find(({ role }) => role === "member") ?? expect.fail()
  expect(await readFile(join(root, "README.md"), "utf8")).toContain(`Bearer ${demoKey(member)}" http://localhost:3000`)
})
