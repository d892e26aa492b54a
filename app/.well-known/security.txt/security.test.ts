import { expect, test } from "vitest"
import { product } from "@/lib/product"
import { GET } from "./route"

test("security.txt names the contact, links to how to report leaked keys, and expires within a year", async () => {
  const text = await (await GET(new Request("http://localhost:3000/.well-known/security.txt"))).text()
  const fields = new Map(
    text
      .trim()
      .split("\n")
      .map((line) => line.split(": ", 2) as [string, string]),
  )
  expect(fields.get("Contact")).toBe(`mailto:${product.supportEmail}`)
  expect(fields.get("Canonical")).toBe("http://localhost:3000/.well-known/security.txt")
  expect(fields.get("Policy")).toBe("http://localhost:3000/docs/leaks")
  const days = (Date.parse(fields.get("Expires") ?? "") - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(170)
  expect(days).toBeLessThan(365)
})
