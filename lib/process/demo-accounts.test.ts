import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { publicNotice } from "@/scripts/demo-data"
import { root } from "@/scripts/root"
import { demoAccounts, demoKey } from "./demo-accounts"

test("README.md prints the key of the demo's member", async () => {
  const member = demoAccounts.find(({ role }) => role === "member") ?? expect.fail()
  expect(await readFile(join(root, "README.md"), "utf8")).toContain(`Bearer ${demoKey(member)}"`)
})

test.each<[string, boolean]>([
  ["0.0.0.0", true],
  ["::", true],
  ["192.168.1.5", true],
  ["demo.example.com", true],
  ["localhost", false],
  ["127.0.0.1", false],
  ["::1", false],
])("a demo that listens on %s says in capitals that its password and keys are public: %s", (host, expected) => {
  expect(/MAKES THIS DEMO PUBLIC.*\n.*PASSWORD AND THE KEYS/.test(publicNotice(host))).toBe(expected)
})
