import { describe, expect, test } from "vitest"
import { ask, callAction, formOf, hiddenFields, type SentHeaders, sameOriginHeaders } from "@/tests/support/client"
import { createUser } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { inTurn, sampled } from "@/tests/support/sample"
import { server } from "@/tests/support/shared-server"
import { reviewedProof } from "../reviewed-proof"
import { actionOf, actions, type Caller, callersOf, ofRole } from "./callers"
import { type FormCase, formCases, password, setsSession } from "./forms"
import { isHolder, roles } from "./tables"

// Calls every action without credentials, with and without the permission, from another site and with an old session.
// `LONG=1` sends every kind of credential and every origin to each.

const cases = Object.entries(formCases)
  .filter(([name]) => actions.some((action) => action.name === name))
  .map(([name, formCase], place) => ({ ...formCase, name, place }))

describe.each(cases)("the action $name", (formCase) => {
  const { name, access, place } = formCase
  const asks = reviewedProof[name] === true

  test(`access: ${access}`, async () => {
    const refused: Attempt[] = []
    for (const [name, make] of callersOf(access, place)) {
      if (mayDo(formCase, name)) await expectDone(formCase, name, await make())
      else refused.push({ name, caller: await make(), expected: refusalOf(formCase, name) })
    }
    await expectNothingDone(formCase, refused)
  })

  test("refuses forms from other origins", async () => {
    const { account, headers } = await ofRole("owner")
    const attempts = inTurn(otherOrigins, place).map(([name, origin]) => ({
      name,
      caller: { account, headers: { ...headers, ...origin } },
    }))
    await expectNothingDone(formCase, attempts)
  })

  test(`${asks ? "asks" : "does not ask"} for a fresh proof`, async () => {
    const attempts = inTurn(Object.entries(tooOld), place).map(([name, session]) => ({
      name,
      make: () => ofRole("owner", session),
    }))
    if (asks) {
      const refused: Attempt[] = []
      for (const { name, make } of attempts) {
        refused.push({ name, caller: await make(), expected: '"proof":{"method":' })
      }
      await expectNothingDone(formCase, refused)
    }
    for (const { name, make } of attempts) await expectDone(formCase, name, await make(), asks)
  })
})

const pages = ["/", "/docs", "/sign-in", "/api-keys", "/nowhere"]
const guarded = cases.filter(({ access }) => access !== "everyone")
const byPermission = guarded.filter(({ access }) => access !== "accounts")
const forMembers = guarded.filter(({ access }) => access === "accounts")
test.each(sampled([...byPermission, ...forMembers], pages.length).map((formCase, place) => ({ ...formCase, place })))(
  "the action $name has the same access when it is sent to another page",
  async (formCase) => {
    const attempts: Attempt[] = []
    for (const [name, make] of callersOf(formCase.access, formCase.place)) {
      if (mayDo(formCase, name)) continue
      for (const path of inTurn(pages, formCase.place)) {
        attempts.push({ name: `${name}, to ${path}`, caller: await make(), path })
      }
    }
    await expectNothingDone(formCase, attempts)
  },
)

/** Sessions without a proof of identity in the last ten minutes. */
const tooOld = {
  "with a proof from eleven minutes ago": { provedAt: new Date(Date.now() - 11 * 60_000) },
  "with a session that proved nothing": { provedAt: null },
}

/** Next.js compares `Origin` with the host that the request claims. If both match, only the product's check refuses. */
const otherOrigins: [name: string, SentHeaders][] = [
  ["another site, with a matching Host", { origin: "https://evil.example", host: "evil.example" }],
  ["no origin", { origin: undefined }],
  ["a sandboxed frame", { origin: "null" }],
  ["another site", { origin: "https://evil.example" }],
  [
    "another site, with a matching X-Forwarded-Host",
    { origin: "https://evil.example", "x-forwarded-host": "evil.example" },
  ],
  ["another scheme", { origin: "https://localhost:3000" }],
  ["another port", { origin: "http://localhost:3001", host: "localhost:3001" }],
  [
    "a host name that starts with the product's",
    { origin: "http://localhost.evil.example:3000", host: "localhost.evil.example:3000" },
  ],
  ["an origin without a scheme", { origin: "localhost:3000", host: "localhost:3000" }],
]

function mayDo({ access }: FormCase, caller: string): boolean {
  return access === "everyone" || (roles.includes(caller) && isHolder(caller, access))
}

/** The refusal of one role shows the permission that the action requires. */
function refusalOf({ access }: FormCase, caller: string): string {
  return roles.includes(caller) ? `Your role lacks the permission ${access}.` : ""
}

/** The response contains `expected`. */
type Attempt = { name: string; caller: Caller; path?: string; expected?: string }

type CheckedForm = (typeof cases)[number]

/** Prepares the form of an action; `call` sends it. */
async function prepareCall(
  formCase: CheckedForm,
  { caller: { account, headers }, path = formCase.path }: Attempt,
  proves = false,
) {
  const { fields = {}, proof = password, isDone } = await formCase.prepare(account)
  const given = { ...fields, ...(proves && { proof }) }
  const sent = { path: path.replace("[id]", fields.id ?? ""), fields: given, headers }
  return { call: () => callAction(server, actionOf(formCase.name), sent), isDone }
}

async function expectDone(formCase: CheckedForm, name: string, caller: Caller, proves = false): Promise<void> {
  const { call, isDone } = await prepareCall(formCase, { name, caller }, proves)
  const response = await call()
  // Some effects follow the response.
  await expect.poll(() => isDone(response), { timeout: 10_000, message: `${formCase.name}, ${name}` }).toBe(true)
}

/** Expects that no attempt has the effect of the action, and that all attempts leave the database unchanged. */
async function expectNothingDone(formCase: CheckedForm, attempts: readonly Attempt[]): Promise<void> {
  const prepared: (Awaited<ReturnType<typeof prepareCall>> & Pick<Attempt, "name" | "expected">)[] = []
  for (const attempt of attempts) prepared.push({ ...attempt, ...(await prepareCall(formCase, attempt)) })
  const before = await digestOfDatabase()
  const effective: string[] = []
  for (const { name, call, isDone, expected = "" } of prepared) {
    const response = await call()
    if ((await isDone(response)) || setsSession(response)) effective.push(name)
    expect(response.text, name).toContain(expected)
  }
  expect(effective).toEqual([])
  expect(await digestOfDatabase(), attempts.map(({ name }) => name).join("; ")).toBe(before)
}

/** A digest of the database, without the columns and tables that are written after the response. */
async function digestOfDatabase(): Promise<string> {
  digestStatement ??= await writeDigestStatement()
  const { rows } = await ownerPool().query<{ digest: string }>(digestStatement)
  return rows.map(({ digest }) => digest).join()
}

let digestStatement: string | undefined

/** The statement for the digest: the number of rows of each table that requests write, and the sum of their hashes. */
async function writeDigestStatement(): Promise<string> {
  const { rows: tables } = await ownerPool().query<{ name: string; columns: string }>(
    `SELECT table_name AS name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns
     FROM information_schema.columns WHERE table_schema = 'public' AND column_name <> 'last_used_at'
     AND table_name NOT IN ('emails', 'daily_sums', 'daily_changes', 'active_days') AND table_name NOT LIKE 'key_reminder%'
     GROUP BY 1 ORDER BY 1`,
  )
  return tables
    .map(
      ({ name, columns }) =>
        `SELECT concat_ws(' ', '${name}', count(*), sum(hashtextextended(ROW(${columns})::text, 0))) AS digest FROM "${name}"`,
    )
    .join(" UNION ALL ")
}

/** Forms as a browser without JavaScript sends them, rendered for the role `may`. */
const renderedForms = {
  "a new admin key": {
    may: "analyst",
    mayNot: "support",
    pathFor: () => "/admin/api-keys?new",
    input: { name: "From a form", expires: "never", date: "", scopes: "users.read" },
  },
  "a ban": {
    may: "admin",
    mayNot: "analyst",
    pathFor: (id: string) => `/admin/users/${id}?action=ban`,
    input: { reason: "" },
  },
}

test.each(Object.entries(renderedForms))(
  "a form rendered for an authorized account has no effect when another account sends it: %s",
  async (_name, form) => {
    const { may, mayNot, pathFor, input } = form
    const path = pathFor((await createUser()).id)
    const [privileged, ...others] = [await ofRole(may), await ofRole(mayNot), await ofRole("member"), { headers: {} }]
    const page = await ask(server, { path, headers: privileged.headers })
    const send = ({ headers }: Pick<Caller, "headers">) => {
      const body = formOf({ ...hiddenFields(page.text, `name="${Object.keys(input)[0]}"`), ...input })
      return ask(server, { method: "POST", path, body, headers: { ...sameOriginHeaders(), ...headers } })
    }
    const before = await digestOfDatabase()
    for (const other of others) await send(other)
    expect(await digestOfDatabase()).toBe(before)
    await send(privileged)
    expect(await digestOfDatabase()).not.toBe(before)
  },
)
