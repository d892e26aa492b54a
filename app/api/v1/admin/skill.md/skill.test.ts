import { beforeAll, describe, expect, test, vi } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { keyVariable } from "@/lib/product"
import { anyPrefix } from "@/lib/surfaces"
import { seed } from "@/prisma/seed"
import { ownerPool } from "@/tests/support/owner"
import { endpoints } from "../../endpoints"
import { GET } from "./route"

const year = new Date().getUTCFullYear()
const skill = await (await GET(new Request("http://localhost:3000/api/v1/admin/skill.md"))).text()
const table = await endpoints()

beforeAll(async () => {
  await seed(ownerPool(), { users: 150, now: new Date() })
  const owner = demoAccounts.find(({ role }) => role === "owner") ?? expect.fail()
  vi.stubEnv(keyVariable, demoKey(owner))
  // The route functions replace the server: no network is involved.
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const { pathname } = new URL(url)
    const endpoint = table.find(({ path }) => path === pathname) ?? expect.fail(`no endpoint ${pathname}`)
    return endpoint.routes.GET(new Request(url, init))
  })
  return () => vi.unstubAllGlobals()
})

const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => () => Promise<unknown>

/** The code blocks of the recipes in the document; the first block has the helpers that every recipe uses. */
const [preface = "", ...blocks] = [...skill.slice(skill.indexOf("## Recipes")).matchAll(/```js\n([\s\S]*?)```/g)].map(
  ([, code]) => code ?? "",
)
const titles = [...skill.slice(skill.indexOf("## Recipes")).matchAll(/^### (.*)$/gm)].map(([, title]) => title ?? "")

async function runRecipe(topic: string) {
  const index = titles.findIndex((title) => title.startsWith(topic))
  return new AsyncFunction(`${preface}\n${blocks[index] ?? expect.fail(`no recipe for ${topic}`)}`)()
}

async function rows(sql: string, ...values: unknown[]) {
  return (await pool().query(sql, values)).rows
}

const months = "to_char(date_trunc('month', $1 AT TIME ZONE 'UTC'), 'YYYY-MM')"
const monthOf = (column: string) => months.replace("$1", column)

describe("each recipe, run as written in the document, returns the same numbers as SQL", () => {
  test("every recipe has a test", () => {
    expect(titles.map((title) => title.split(":")[0])).toEqual([
      ...["Credit burn", "Accounts running out of credits", "Revenue", "Why revenue changed", "Churn", "Churn by plan"],
      ...["Retention by cohort", "Growth"],
    ])
    expect(blocks).toHaveLength(titles.length)
  })

  test("growth", async () => {
    const expected = await rows(
      `SELECT ${monthOf("created_at")} AS month, count(*)::int AS signups FROM users WHERE created_at >= $1 GROUP BY 1 ORDER BY 1`,
      `${year - 1}-01-01`,
    )
    const reported = (await runRecipe("Growth")) as { month: string; signups: number; growth: number | null }[]
    expect(reported.filter(({ signups }) => signups > 0).map(({ month, signups }) => ({ month, signups }))).toEqual(
      expected,
    )
    const last = reported.at(-1)
    expect(last?.growth).toBeCloseTo(Number(last?.signups) / Number(reported.at(-2)?.signups) - 1)
  })

  test("revenue", async () => {
    const expected = await rows(
      `SELECT month, currency, sum(amount)::int AS revenue FROM (
         SELECT ${monthOf("paid_at")} AS month, currency, amount FROM orders WHERE paid_at >= $1
         UNION ALL SELECT ${monthOf("created_at")}, currency, -amount FROM refunds WHERE created_at >= $1) moved
       GROUP BY 1, 2 ORDER BY 1, 2`,
      `${year}-01-01`,
    )
    const reported = (await runRecipe("Revenue")) as { month: string; currency: string; revenue: number; mrr: number }[]
    expect(
      reported
        .map(({ month, currency, revenue }) => ({ month, currency, revenue }))
        .filter(({ revenue }) => revenue !== 0),
    ).toEqual(expected.filter(({ revenue }) => revenue !== 0))
    const mrr = await rows(
      `SELECT currency, round(sum(CASE interval WHEN 'year' THEN amount ELSE 12 * amount END) / 12.0)::int AS mrr FROM subscriptions
       WHERE status IN ('active', 'past_due') GROUP BY 1 ORDER BY 1`,
    )
    expect(reported.slice(-2).map(({ currency, mrr }) => ({ currency, mrr }))).toEqual(mrr)
  })

  test("churn", async () => {
    const expected = await rows(
      `SELECT ${monthOf("canceled_at")} AS month, count(*)::int AS ended FROM subscriptions WHERE canceled_at >= $1 AND canceled_at <= now() AND NOT replaced GROUP BY 1 ORDER BY 1`,
      `${year}-01-01`,
    )
    const reported = (await runRecipe("Churn:")) as {
      month: string
      ended: number
      active: number
      churnRate: number
    }[]
    expect(reported.map(({ month, ended }) => ({ month, ended })).filter(({ ended }) => ended > 0)).toEqual(expected)
    const [first, second] = reported
    expect(second?.churnRate).toBeCloseTo(Number(second?.ended) / Number(first?.active))
  })

  test("credit burn", async () => {
    const expected = await rows(
      `SELECT ${monthOf("ended_at")} AS month, sum(cost)::int AS spent, count(DISTINCT user_id)::int AS accounts
       FROM runs WHERE ended_at >= $1 GROUP BY 1 ORDER BY 1`,
      `${year}-01-01`,
    )
    const reported = (await runRecipe("Credit burn")) as {
      month: string
      spent: number
      spentPerAccount: number | null
    }[]
    expect(reported.filter(({ spent }) => spent > 0).map(({ month, spent }) => [month, spent])).toEqual(
      expected.map(({ month, spent }) => [month, spent]),
    )
    const last = reported.filter(({ spent }) => spent > 0).at(-1)
    expect(last?.spentPerAccount).toBeCloseTo(expected.at(-1)?.spent / expected.at(-1)?.accounts)
  })

  test("churn by plan", async () => {
    const expected = await rows(
      `SELECT plan_id AS plan, (count(*) FILTER (WHERE replaces_id IS NULL))::int AS started,
              (count(canceled_at) FILTER (WHERE NOT replaced))::int AS ended,
              (avg(extract(epoch FROM canceled_at - coalesce(first_created_at, created_at)) / 86400) FILTER (WHERE NOT replaced))::float AS days
       FROM subscriptions GROUP BY 1 HAVING count(*) FILTER (WHERE replaces_id IS NULL OR canceled_at IS NOT NULL AND NOT replaced) > 0
       ORDER BY plan_id COLLATE "C"`,
    )
    expect(await runRecipe("Churn by plan")).toEqual(
      expected.map(({ plan, days, ...counts }) => ({
        id: plan,
        plan,
        ...counts,
        lifetimeDays: days === null ? null : expect.closeTo(days, 3),
      })),
    )
  })

  test("retention by cohort", async () => {
    const expected = await rows(
      `SELECT ${monthOf("u.created_at")} AS id, ${monthOf("u.created_at")} AS cohort, count(*)::int AS accounts,
              count(*) FILTER (WHERE EXISTS (SELECT 1 FROM subscriptions s WHERE s.user_id = u.id))::int AS subscribed,
              count(*) FILTER (WHERE EXISTS (SELECT 1 FROM subscriptions s WHERE s.user_id = u.id AND s.status <> 'canceled'))::int AS retained
       FROM users u GROUP BY 1 ORDER BY 1`,
    )
    expect(await runRecipe("Retention")).toEqual(expected)
  })

  test("why revenue changed", async () => {
    const expected = await rows(
      `SELECT coalesce(s.plan_id, 'credits') AS plan, o.currency, count(*)::int AS orders, sum(o.amount - o.refunded_amount)::int AS net
       FROM orders o LEFT JOIN subscriptions s ON s.id = o.subscription_id
       WHERE o.paid_at >= $1 GROUP BY 1, 2 ORDER BY 4 DESC, coalesce(s.plan_id, 'credits') COLLATE "C"`,
      `${year}-01-01`,
    )
    expect(await runRecipe("Why revenue")).toEqual(expected)
  })

  test("accounts running out of credits", async () => {
    const expected = await rows(
      `SELECT user_id AS "userId", balance::int FROM credit_accounts WHERE balance < 100 ORDER BY balance, user_id LIMIT 20`,
    )
    expect(expected.length).toBeGreaterThan(0)
    expect(await runRecipe("Accounts running out")).toEqual(expected)
  })
})

test("the front matter is valid for an Agent Skill", () => {
  const [, name, description] = /^---\nname: (.*)\ndescription: (.*)\n---\n/.exec(skill) ?? expect.fail()
  expect(name).toMatch(/^[a-z0-9-]{1,64}$/)
  expect(description?.length).toBeLessThanOrEqual(1024)
  expect(description).not.toMatch(/[<>]/)
})

test("the document is public, cacheable, short, and names every admin endpoint, permission and field", async () => {
  const response = await GET(new Request("http://localhost:3000/api/v1/admin/skill.md"))
  expect([response.status, response.headers.get("content-type"), response.headers.get("cache-control")]).toEqual([
    200,
    "text/markdown; charset=utf-8",
    "public, max-age=300",
  ])
  // English text and code have about four characters per token.
  const tokens = Math.ceil(skill.length / 4)
  const budget = 2_600 + 250 * table.filter(({ surface }) => surface === "admin").length
  const remedy = "Shorten the descriptions of endpoints, fields and measures, and the texts of lib/api/documents."
  expect(tokens, `An agent reads the document whole. ${remedy}`).toBeLessThan(budget)
  expect(skill.indexOf("## Metrics")).toBeLessThan(skill.indexOf("## Conventions"))
  for (const { family } of table.flatMap(({ families = [] }) => families)) {
    for (const [name, { unit, definition }] of Object.entries(family.measures)) {
      expect(skill).toContain(`\`${name}\`${unit === "count" ? "" : ` ${unit}`}: ${definition}`)
    }
  }
  for (const { path, surface, permission, filters, data } of table) {
    if (surface === "user") {
      expect(skill).not.toContain(`GET ${path}\n`)
      continue
    }
    const section = skill.slice(skill.indexOf(`### GET ${path}\n`)).split("\n### ")[0] ?? ""
    expect(section.includes("Permission:"), path).toBe(permission !== undefined)
    if (permission) expect(section, path).toContain(`Permission: \`${permission}\``)
    const fields = Object.keys((data as unknown as { shape: object }).shape)
    for (const name of [...Object.keys(filters), ...fields]) expect(section, path).toContain(`\`${name}\``)
  }
})

/** Endpoints of removed modules are skipped. */
const untrustedFields = [
  ["/api/v1/admin/users", "name"],
  ["/api/v1/admin/emails", "subject"],
  ["/api/v1/admin/feedback", "message"],
  ["/api/v1/admin/waitlist", "note"],
].filter(([path]) => table.some((endpoint) => endpoint.path === path))

test.each(untrustedFields)("text written by outsiders is marked as untrusted: %s, field %s", (path, field) => {
  const section = skill.slice(skill.indexOf(`### GET ${path}\n`)).split("\n### ")[0]
  expect(section).toMatch(new RegExp(`\`${field}\`\\?? \\*\\*untrusted\\*\\*`))
})

test("the document contains no key", () => {
  expect(skill).not.toMatch(new RegExp(`${anyPrefix}\\w`))
})
