import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { beforeAll, describe, expect, test } from "vitest"
import { jsonSchemaOf } from "@/lib/api/documents/document"
import { pool } from "@/lib/platform/postgres/pool"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { anyPrefix } from "@/lib/surfaces"
import { seed } from "@/prisma/seed"
import { ownerPool } from "@/tests/support/owner"
import { endpoints } from "../../endpoints"
import { GET as getUserSkill } from "../../me/skill.md/route"
import { GET } from "./route"

const year = new Date().getUTCFullYear()
const skill = await (await GET(new Request("http://localhost:3000/api/v1/admin/skill.md"))).text()
const table = await endpoints()

let secret: string

beforeAll(async () => {
  await seed(ownerPool(), { users: 150, now: new Date() })
  secret = demoKey(demoAccounts.find(({ role }) => role === "owner") ?? expect.fail())
})

const recipes = [...skill.slice(skill.indexOf("## Recipes")).matchAll(/^- (.*): `(.*)`$/gm)].map(
  ([, title = "", query = ""]) => ({ title, query }),
)

/** Its rows without ids and fields that are null, with the month of `createdAt`. */
async function runRecipe(topic: string): Promise<Record<string, unknown>[]> {
  const { query } = recipes.find(({ title }) => title.startsWith(topic)) ?? expect.fail(`no recipe for ${topic}`)
  const { path, routes } = table.find(({ families }) => families) ?? expect.fail()
  const until = new Date().toISOString().slice(0, 10)
  const url = `http://localhost:3000${path}?${query}&meta=short&until=${until}`
  const response = await routes.GET(new Request(url, { headers: { "x-api-key": secret } }))
  const { data }: { data: Record<string, unknown>[] } = await response.json()
  return data.map(({ id, createdAt, ...row }) => ({
    ...(createdAt ? { month: String(createdAt).slice(0, 7) } : {}),
    ...row,
  }))
}

async function rows(sql: string, ...values: unknown[]) {
  return (await pool().query(sql, values)).rows
}

const months = "to_char(date_trunc('month', $1 AT TIME ZONE 'UTC'), 'YYYY-MM')"
const monthOf = (column: string) => months.replace("$1", column)
const thisYear = `${year}-01-01`

describe("each recipe, run as written in the document, returns the same numbers as SQL", () => {
  test("every recipe has a test", () => {
    expect(recipes.map(({ title }) => title)).toEqual(
      [
        ...["Credit burn", "Accounts running out", "Revenue by month", "Why revenue changed", "Recurring revenue"],
        ...["Churn by plan", "Retention", "Growth"],
      ].map((topic) => expect.stringContaining(topic)),
    )
  })

  test("growth", async () => {
    const expected = await rows(
      `SELECT ${monthOf("created_at")} AS month, count(*)::int AS signups FROM users WHERE created_at >= $1 GROUP BY 1 ORDER BY 1`,
      thisYear,
    )
    expect((await runRecipe("Growth")).filter(({ signups }) => signups !== 0)).toEqual(expected)
  })

  test("revenue", async () => {
    const expected = await rows(
      `SELECT month, currency, sum(gross)::int AS gross, sum(refunded)::int AS refunded FROM (
         SELECT ${monthOf("paid_at")} AS month, currency, amount AS gross, 0 AS refunded FROM orders WHERE paid_at >= $1
         UNION ALL SELECT ${monthOf("created_at")}, currency, 0, amount FROM refunds WHERE created_at >= $1) moved
       GROUP BY 1, 2 ORDER BY 1, 2`,
      thisYear,
    )
    const reported = await runRecipe("Revenue by month")
    expect(reported.filter(({ gross, refunded }) => gross !== 0 || refunded !== 0)).toEqual(expected)
  })

  test("recurring revenue and churn", async () => {
    const ended = await rows(
      `SELECT ${monthOf("canceled_at")} AS month, currency, count(*)::int AS ended FROM subscriptions
       WHERE canceled_at >= $1 AND canceled_at <= now() AND NOT replaced GROUP BY 1, 2 ORDER BY 1, 2`,
      thisYear,
    )
    const reported = await runRecipe("Recurring revenue")
    const churned = reported.filter(({ ended }) => ended !== 0)
    expect(churned.map(({ month, currency, ended }) => ({ month, currency, ended }))).toEqual(ended)
    const mrr = await rows(
      `SELECT currency, round(sum(CASE interval WHEN 'year' THEN amount ELSE 12 * amount END) / 12.0)::int AS mrr FROM subscriptions
       WHERE status IN ('active', 'past_due') GROUP BY 1 ORDER BY 1`,
    )
    expect(reported.slice(-mrr.length).map(({ currency, mrr }) => ({ currency, mrr }))).toEqual(mrr)
    const [first, second] = reported.filter(({ currency }) => currency === mrr[0].currency)
    expect(second?.churnRate).toBeCloseTo(Number(second?.ended) / Number(first?.active))
  })

  test("credit burn", async () => {
    const expected = await rows(
      `SELECT ${monthOf("ended_at")} AS month, sum(cost)::int AS spent, count(DISTINCT user_id)::int AS "activeAccounts"
       FROM runs WHERE ended_at >= $1 GROUP BY 1 ORDER BY 1`,
      thisYear,
    )
    const reported = await runRecipe("Credit burn")
    expect(reported.map(({ granted, ...row }) => row).filter(({ spent }) => spent !== 0)).toEqual(expected)
  })

  test("churn by plan", async () => {
    const expected = await rows(
      `SELECT plan_id AS plan, (count(*) FILTER (WHERE canceled_at IS NULL))::int AS active,
              (count(*) FILTER (WHERE replaces_id IS NULL))::int AS started,
              count(replaces_id)::int AS replacing,
              (count(canceled_at) FILTER (WHERE NOT replaced))::int AS ended,
              (count(*) FILTER (WHERE replaced))::int AS replaced,
              (avg(extract(epoch FROM canceled_at - coalesce(first_created_at, created_at)) / 86400) FILTER (WHERE NOT replaced))::float AS days
       FROM subscriptions GROUP BY 1 ORDER BY plan_id COLLATE "C"`,
    )
    for (const { active, started, replacing, ended, replaced } of expected) {
      expect(active).toBe(started + replacing - ended - replaced)
    }
    expect(await runRecipe("Churn by plan")).toEqual(
      expected.map(({ days, ...row }) => ({ ...row, lifetimeDays: days === null ? null : expect.closeTo(days, 3) })),
    )
  })

  test("retention by cohort", async () => {
    const expected = await rows(
      `SELECT ${monthOf("u.created_at")} AS cohort, count(*)::int AS accounts,
              count(*) FILTER (WHERE EXISTS (SELECT 1 FROM subscriptions s WHERE s.user_id = u.id))::int AS subscribed,
              count(*) FILTER (WHERE EXISTS (SELECT 1 FROM subscriptions s WHERE s.user_id = u.id AND s.status <> 'canceled'))::int AS retained
       FROM users u GROUP BY 1 ORDER BY 1`,
    )
    expect(await runRecipe("Retention")).toEqual(expected)
  })

  test("why revenue changed", async () => {
    const expected = await rows(
      `SELECT coalesce(s.plan_id, '') AS plan, o.currency, count(*)::int AS orders, sum(o.amount - o.refunded_amount)::int AS net
       FROM orders o LEFT JOIN subscriptions s ON s.id = o.subscription_id
       WHERE o.paid_at >= $1 GROUP BY 1, 2 ORDER BY 4 DESC, coalesce(s.plan_id, '') COLLATE "C"`,
      thisYear,
    )
    expect(await runRecipe("Why revenue")).toEqual(expected)
  })

  test("accounts running out of credits", async () => {
    const expected = await rows(
      `SELECT user_id AS account, (SELECT email FROM users WHERE id = user_id) AS email, 1 AS balances, balance::int AS credits
       FROM credit_accounts WHERE balance < 100 ORDER BY balance, user_id LIMIT 20`,
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

test.each(["admin", "user"] as const)(
  "an agent reads the document of the %s API within its budget",
  async (surface) => {
    const documents = { admin: skill, user: await (await getUserSkill(new Request("http://localhost:3000/"))).text() }
    const document = documents[surface]
    const budget = 2_400 + 200 * table.filter((endpoint) => endpoint.surface === surface).length
    const sections = document.split(/^(?=#{2,3} )/m).sort((one, other) => countTokens(other) - countTokens(one))
    const longest = sections.slice(0, 3).map((section) => `${section.split("\n")[0]} (${countTokens(section)} tokens)`)
    const remedy = `Shorten descriptions; the longest sections are ${longest.join(", ")}.`
    expect(countTokens(document), remedy).toBeLessThanOrEqual(budget)
  },
)

test("the document is public, cacheable, and names every admin endpoint, permission and field", async () => {
  const response = await GET(new Request("http://localhost:3000/api/v1/admin/skill.md"))
  expect([response.status, response.headers.get("content-type"), response.headers.get("cache-control")]).toEqual([
    200,
    "text/markdown; charset=utf-8",
    "public, max-age=300",
  ])
  expect(skill.indexOf("## Metrics")).toBeLessThan(skill.indexOf("## Conventions"))
  for (const { family } of table.flatMap(({ families = [] }) => families)) {
    for (const [name, { unit, definition }] of Object.entries(family.measures)) {
      const text = definition.replaceAll(" in the period", "")
      expect(skill).toContain(`\`${name}\`${unit === "count" ? "" : ` ${unit}`}: ${text}`)
    }
  }
  for (const { path, surface, permission, filters, data, families } of table) {
    if (surface === "user") {
      expect(skill).not.toContain(`GET ${path}\n`)
      continue
    }
    const section = skill.slice(skill.indexOf(`### GET ${path}\n`)).split("\n### ")[0] ?? ""
    expect(section.includes("Permission:"), path).toBe(permission !== undefined)
    if (permission) expect(section, path).toContain(`Permission: \`${permission}\``)
    for (const name of Object.keys(filters)) expect(section, path).toContain(`\`${name}\``)
    const [, listed = ""] = section.split("\nFields: ")
    // The fields of metrics are its measures.
    const fields = families ? [] : (jsonSchemaOf(data, "output").required ?? [])
    for (const name of fields) expect(listed, path).toMatch(new RegExp(`(^|; )${name}\\b`))
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
  expect(section).toMatch(new RegExp(` ${field}\\?? \\*\\*untrusted\\*\\*`))
})

test("the document contains no key", () => {
  expect(skill).not.toMatch(new RegExp(`${anyPrefix}\\w`))
})
