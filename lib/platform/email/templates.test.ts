import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { root } from "@/scripts/root"
import { hostile } from "@/tests/support/hostile-text"
import * as yours from "@/tests/yours/emails"
import { colors, render } from "./layout"
import { type EmailContent, type Template, templates } from "./templates"

const key = { name: hostile, start: hostile }

const adding = { label: hostile, url: `${env().BASE_URL}/docs#credits` }

const expiring = { surface: "user", ...key, expiresAt: new Date(0), hasExpired: false, ownerEmail: null } as const

/** Facts for every template; each text is hostile. */
const facts: { [Name in Template]: Parameters<(typeof templates)[Name]> } = {
  welcome: [],
  verify_address: [{ token: hostile, hours: 24 }],
  already_registered: [],
  address_change: [{ token: hostile, hours: 24 }],
  address_changed: [{ token: hostile, hours: 72 }],
  address_restored: [],
  feedback_reply: [
    { sentAt: new Date(0), message: `${hostile}\n\nAgain.`, reply: `${hostile}\n\nThe second paragraph.` },
  ],
  waitlist_invite: [{ email: "ada+list@example.com" }],
  role_changed: [{ role: hostile }],
  account_banned: [],
  deletion_requested: [{ dueAt: new Date(0), undoable: true, byStaff: false }],
  deletion_undone: [{ byStaff: false }],
  account_deleted: [],
  provider_connected: [{ provider: hostile }],
  provider_disconnected: [{ provider: hostile }],
  factor_added: [{ factor: "passkey" }],
  factor_removed: [{ factor: "app" }],
  passkey_refused: [],
  passkey_uncounted: [],
  factors_reset: [],
  recovery_codes_replaced: [],
  recovery_code_used: [{ left: 9 }],
  wrong_codes: [{ codes: 5, minutes: 10, address: hostile }],
  new_browser: [{ browser: hostile, address: hostile, via: hostile }],
  key_created: [{ surface: "user", ...key }],
  key_rotated: [{ surface: "user", ...key, oldStart: hostile, oldWorksUntil: new Date(0) }],
  key_changed: [{ surface: "user", ...key }],
  admin_key_created: [{ email: hostile, start: hostile }],
  keys_revoked: [{ keys: [key, { ...key, start: "second" }] }],
  keys_expiring: [{ keys: [expiring, { ...expiring, surface: "admin", hasExpired: true, ownerEmail: hostile }] }],
  credits_low: [{ balance: "200 credits", added: "1,000 credits", percent: 20, needed: "10 credits", adding }],
  credits_too_low: [{ balance: "9 credits", added: "1,000 credits", percent: 20, needed: "10 credits", adding }],
  credit_alert: [{ period: null, amount: "90 credits", credits: "100 credits", adding }],
  top_up_declined: [{ credits: "500 credits", why: hostile }],
  top_up_paused: [{ credits: "500 credits" }],
  key_leaked: [{ surface: "user", ...key, id: hostile, predecessor: hostile }],
  admin_key_leaked: [{ email: hostile, id: hostile, start: hostile }],
  password_reset: [{ token: hostile, minutes: 60 }],
  proof_code: [{ code: hostile, minutes: 10 }],
  password_changed: [],
  ...yours.facts,
}

const names = Object.keys(facts) as Template[]

function emailOf(name: Template): EmailContent {
  const compose = templates[name] as (...given: unknown[]) => EmailContent
  return compose(...facts[name])
}

function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" }
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}

test.each(names)("both parts of %s contain its texts and its links, and escape every value in HTML", async (name) => {
  const email = emailOf(name)
  const { html, text } = await render(email)
  const links = email.body.flatMap((block) => (typeof block === "object" && "url" in block ? [block] : []))
  const texts = email.body.flatMap((block) => {
    if (typeof block === "string") return [block]
    if ("quote" in block) return block.quote
    return "list" in block ? block.list : [block.label]
  })
  const because = email.because ?? `this address belongs to an account at ${env().BASE_URL}`
  for (const line of [...texts, `You received this email because ${because}.`, product.supportEmail]) {
    expect(text).toContain(line)
    expect(html).toContain(`>${escaped(line)}<`)
  }
  for (const { url } of links) expect(text).toContain(`${url}\n`)
  const targets = [...html.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)
  expect(targets).toEqual([...links.map(({ url }) => escaped(url)), `mailto:${product.supportEmail}`])
  expect(html).not.toContain(hostile)
})

test.each(names)("the HTML part of %s loads nothing and states its language and its color schemes", async (name) => {
  const { html } = await render(emailOf(name))
  expect(html).toMatch(/^<!DOCTYPE html><html lang="en">/)
  const tags = new Set([...html.matchAll(/<(\w+)/g)].map(([, tag]) => tag))
  const harmless = ["html", "head", "meta", "title", "style", "body", "div", "h1", "p", "ul", "li", "a"]
  expect([...tags].filter((tag) => !harmless.includes(String(tag)))).toEqual([])
  expect(html.match(/<style>.*<\/style>/s)?.[0]).not.toMatch(/url\(|@import|@font-face/)
  expect(html.match(/ style="[^"]*"/g)?.join()).not.toContain("url(")
  expect(html).toContain('<meta name="color-scheme" content="light dark"/>')
  expect(html).toContain("@media (prefers-color-scheme: dark) {")
  expect(html).toContain("max-width:560px")
})

test.each(["verify_address", "already_registered", "address_change", "account_banned"] as const)(
  "%s, which may reach an unverified address, contains no text that a person typed",
  async (name) => {
    const { html, text } = await render(emailOf(name))
    const token = JSON.stringify(facts[name]).includes("token")
    // The only value is the token in the link.
    expect(text.split("<b>")).toHaveLength(token ? 2 : 1)
    expect(html.split("&lt;b&gt;")).toHaveLength(token ? 2 : 1)
  },
)

test("the reply to feedback quotes its first 500 characters, and names the support address once", async () => {
  const [sentAt, reply] = [new Date("2026-11-21T12:00:00Z"), "It is faster now."]
  const short = await render(templates.feedback_reply({ sentAt, message: "Slow.\n\nReally.", reply }))
  expect(short.text).toContain(`${reply}\n\nOn 21 Nov 2026 you wrote:\n\n> Slow.\n>\n> Really.\n\nYou received`)
  expect(short.text.split(product.supportEmail)).toHaveLength(2)
  const long = await render(templates.feedback_reply({ sentAt, message: "😀".repeat(501), reply }))
  expect(long.text).toContain(`> ${"😀".repeat(500)}…\n`)
})

test("the reply to feedback has no quote where addresses are unverified", async () => {
  const verifies = env().VERIFY_EMAIL
  Object.assign(env(), { VERIFY_EMAIL: "off" })
  const { text } = await render(templates.feedback_reply({ sentAt: new Date(0), message: "Typed", reply: "Thanks." }))
  Object.assign(env(), { VERIFY_EMAIL: verifies })
  expect(text).not.toContain("Typed")
})

test("the limit may drop emails that anybody can request with the address, and emails whose sender is told", () => {
  const isOurs = (name: string) => !Object.hasOwn(yours.facts, name)
  const droppable = names.filter((name) => isOurs(name) && !emailOf(name).security && !emailOf(name).limited)
  expect(droppable.sort()).toEqual([
    ...["address_change", "already_registered", "feedback_reply", "verify_address", "waitlist_invite", "welcome"],
  ])
  expect(names.filter((name) => emailOf(name).limited)).toEqual(["password_reset", "proof_code"])
  expect(names.filter((name) => emailOf(name).unsolicited).sort()).toEqual([
    ...["address_change", "already_registered", "verify_address"],
  ])
})

test.each([true, false])(
  "emails about a deletion doubt the account's sign-in only if staff did not act: %s",
  (byStaff) => {
    const requested = templates.deletion_requested({ dueAt: new Date(0), undoable: true, byStaff })
    for (const { body } of [requested, templates.deletion_undone({ byStaff })]) {
      expect(JSON.stringify(body).includes("/reset-password")).toBe(!byStaff)
    }
  },
)

test("every template with a token or a code is confidential", () => {
  const withToken = names.filter((name) => /"(token|code)":/.test(JSON.stringify(facts[name])))
  expect(names.filter((name) => emailOf(name).confidential)).toEqual(withToken)
})

test("emails have the colors of pages", () => {
  const css = readFileSync(join(root, "app/globals.css"), "utf8")
  for (const [index, palette] of [colors.light, colors.dark].entries()) {
    for (const [name, [lightness, chroma, hue]] of Object.entries(palette)) {
      const [, pair = ""] = new RegExp(`--${name}: light-dark\\((.+)\\);`).exec(css) ?? []
      const color = [...pair.matchAll(/oklch\((\S+) (\S+) (\S+)\)(?:, |$)/g)][index] ?? []
      const expectedHue = color[3] === "var(--hue)" ? product.accentHue : Number(color[3])
      expect([lightness, chroma], name).toEqual([Number(color[1]), Number(color[2])])
      if (chroma > 0) expect(hue, name).toBe(expectedHue)
    }
  }
})
