import { expect, test } from "vitest"
import { creditPacks, keyPrefixes, plans, product } from "@/lib/product"

test("the slug fits everything that is named after it", () => {
  expect(product.slug).toMatch(/^[a-z][a-z0-9]{1,11}$/)
})

test("prefixes are unique, also case-insensitively, and none begins with another", () => {
  const prefixes = Object.values(keyPrefixes).flat()
  for (const prefix of prefixes) {
    expect(prefix).toMatch(/^[a-z][a-z0-9_]*_(adm|usr)_$/)
    expect(prefixes.filter((other) => prefix.startsWith(other))).toEqual([prefix])
  }
})

test("plans have unique slugs, and plans and credit packs cost whole minor units and grant credits", () => {
  expect(new Set(plans.map(({ slug }) => slug)).size).toBe(plans.length)
  for (const { amount, credits } of [...plans, ...creditPacks]) {
    expect([Number.isInteger(amount), amount >= 0, Number.isInteger(credits), credits > 0]).toEqual([
      true,
      true,
      true,
      true,
    ])
  }
})
