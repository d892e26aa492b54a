import { describe, expect, test } from "vitest"
import { findDocuments } from "@/app/find/documents"
import { kinds } from "@/lib/surfaces"
import { isPresent } from "@/tests/support/pages"
import { type Finding, groupsOf, withoutKey } from "./findings"
import { findingsFor } from "./findings-for"

/** As the palette shows it, without accounts and keys. */
async function paletteOf(role: string, text: string, here: readonly Finding[] = []) {
  const documents = text.length < 3 ? [] : await findDocuments({ kind: "text", value: text }, { role })
  return groupsOf([...here, ...(await findingsFor(role))], documents, text)
}

async function firstFor(role: string, text: string): Promise<Finding | undefined> {
  return (await paletteOf(role, text))[0]?.items[0]
}

const words = [
  ["churn", "Documents", "Overview"],
  ["mrr", "Documents", "Overview"],
  ["billing", "Credits", "Credits"],
  ["refund", "Your orders", "Your orders"],
  ["invite", "Documents", "Waitlist"],
  ["ban", "Documents", "Accounts"],
  ["rotate", "API keys", "API keys"],
  ["failed", "Failed requests", "Failed requests"],
  // A guide is called Credits, too.
  ["add credits", "Pages", "Pages"],
  ["dark", "Dark theme", "Dark theme"],
  ["sign out", "Sign out", "Sign out"],
  ["idempotency", "Documents", "Documents"],
] as const

describe.each(words)("the word %s", (word, forCustomer, forAdmin) => {
  test.each([
    ["member", forCustomer],
    ["admin", forAdmin],
  ] as const)("leads %s to %s", async (role, expected) => {
    if (word === "invite" && !isPresent("/admin/waitlist")) return
    const first = await firstFor(role, word)
    expect([first?.label, first?.group]).toContain(expected)
  })
})

test("a customer finds no page of the console, with any word", async () => {
  const all = (await findingsFor("member")).map(({ href }) => href)
  expect(all.filter((href) => href.startsWith("/admin"))).toEqual([])
  expect(all).toContain("/api-keys")
})

test("a role finds only the pages of its permissions", async () => {
  const all = (await findingsFor("finance")).map(({ href }) => href)
  expect(all).toEqual(expect.arrayContaining(["/admin/orders", "/admin/api-keys"]))
  expect(all).not.toContain("/admin/users")
})

test("the actions of the open page come first, by each word of the name", async () => {
  const ban: Finding = { group: "On this page", label: "Ban Mia Member", href: "/admin/users/1?action=ban" }
  for (const text of ["ban", "BAN mia", "member ban"]) {
    expect((await paletteOf("admin", text, [ban]))[0]).toEqual({ value: "On this page", items: [ban] })
  }
})

const named: Finding = { group: "Actions", label: "Sign out", href: "#a" }
const worded: Finding = { group: "Pages", label: "Security", keywords: "sign-in sign out passkeys", href: "/b" }
const found: Finding = { group: "Keys", label: "Sign out robot", href: "/c" }

test("a name comes before keywords, and a later response moves neither", () => {
  const order = (text: string, later: readonly Finding[]) =>
    groupsOf([worded, named], later, text).flatMap(({ items }) => items.map(({ href }) => href))
  expect(order("sign out", [])).toEqual(["#a", "/b"])
  expect(order("sign out", [found])).toEqual(["#a", "/b", "/c"])
  expect(order("", [])).toEqual(["/b", "#a"])
})

test("a keyword is found from its first letter, a name from any", () => {
  const isFound = (text: string) => groupsOf([worded], [], text).length > 0
  expect(["passk", "ecuri", "security sign"].map(isFound)).toEqual([true, true, true])
  expect(["asskey", "key", "security invoices"].map(isFound)).toEqual([false, false, false])
})

test("only the first characters of a key are searched for", () => {
  expect(withoutKey(`${kinds.user.prefix}abcdEFGHijkl`)).toBe(`${kinds.user.prefix}abcd`)
})
