import { beforeAll, expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { seed } from "@/prisma/seed"
import { createKey, createUser } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { questionsOn, recipeQuery } from "@/tests/support/questions"
import { endpoints } from "../../endpoints"
import { GET } from "./route"

// Every question is asked over HTTP, and its rows are compared with SQL over the rows that it is about.

const now = new Date()
const maxBytes = 20_000
/** All questions and recipes together. */
const maxBytesOfAll = 150_000
const families = (GET.endpoint.families ?? []).map(({ family }) => family.name)
/** Titles do not depend on the subjects of the questions. */
const nobody = { account: "", key: "", actor: "" }
const titles = questionsOn(now, nobody).filter(({ family }) => families.includes(family))
const recipes = (await endpoints()).flatMap(({ recipes }) => Object.entries(recipes))

let secret: string
let bytes = 0
let subjects: typeof nobody

beforeAll(async () => {
  await seed(ownerPool(), { users: 150, now })
  secret = (await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })).secret
  const mostIn = async (table: string, column: string) => {
    const { rows } = await pool().query<{ id: string }>(
      `SELECT ${column} AS id FROM ${table} WHERE ${column} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`,
    )
    return rows[0]?.id ?? expect.fail(`${table} is empty`)
  }
  subjects = {
    account: await mostIn("orders", "user_id"),
    key: await mostIn("key_requests", "key_id"),
    actor: await mostIn("audit_entries", "actor_id"),
  }
})

async function ask(request: string) {
  const url = `http://localhost:3000/api/v1/admin/metrics?${request}`
  const response = await GET(new Request(url, { headers: { authorization: `Bearer ${secret}` } }))
  const text = await response.text()
  expect(response.status, text).toBe(200)
  expect(text.length).toBeLessThan(maxBytes)
  bytes += text.length
  return JSON.parse(text)
}

/** Rows without ids, missing values and rows of zeros; sorted, unless they have an order. */
function normalized(rows: readonly Record<string, unknown>[], isOrdered = false) {
  const kept = rows
    .map(({ id, ...fields }) =>
      Object.fromEntries(
        Object.entries(fields)
          .filter(([, value]) => value !== null)
          .map(([name, value]) => [name, name === "createdAt" ? String(value).slice(0, 10) : rounded(value)])
          .sort(),
      ),
    )
    .filter((row) => measuresOf(row).some((value) => value !== 0))
  return isOrdered ? kept : kept.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

function measuresOf({ monthsSinceSignUp, ...row }: Record<string, unknown>): unknown[] {
  return Object.values(row).filter((value) => typeof value === "number")
}

/** Means and shares are compared with nine digits. */
function rounded(value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(9)) : value
}

test("there are at least 40 questions, each asked once", () => {
  expect(questionsOn(now, nobody).length).toBeGreaterThanOrEqual(40)
  expect(new Set(titles.map(({ request }) => request)).size).toBe(titles.length)
})

test.each(titles)("$question", async ({ question }) => {
  const { request, sql, isOrdered } =
    questionsOn(now, subjects).find((one) => one.question === question) ?? expect.fail(question)
  const { data, meta } = await ask(request)
  const { rows } = await pool().query(sql)
  expect(normalized(data, isOrdered)).toEqual(normalized(rows, isOrdered))
  if (data.length < 5) expect(meta.total).toBe(data.length)
  for (const text of Object.values(meta.definitions)) expect(text).toEqual(expect.any(String))
})

test.each(recipes)("the recipe takes few bytes: %s", async (_title, recipe) => {
  const { data, meta } = await ask(recipeQuery(recipe, now))
  expect(data).not.toEqual([])
  expect(data.length).toBe(Math.min(meta.total, meta.limit))
})

test("all questions and recipes together take few bytes", () => {
  expect(bytes).toBeLessThan(maxBytesOfAll)
})
