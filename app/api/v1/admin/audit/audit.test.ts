import { expect, test } from "vitest"
import { auditDetails } from "@/lib/leaving/personal-data"
import { db } from "@/lib/platform/postgres/prisma"
import { activityForStaff } from "@/lib/sign-in/activity"
import { createKey, createUser } from "@/tests/support/factories"
import { GET } from "./route"

const names = [...Object.keys(auditDetails), "unknown"]
const mark = (name: string) => `203.0.113.0/24, mark-of-${name}.`
const marksIn = (text: string) => names.filter((name) => text.includes(`mark-of-${name}.`))

test("pages and files show readers of the log the details that the map gives to everyone, and the size of an owner's list", async () => {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "user" })
  const details = Object.fromEntries(names.map((name) => [name, mark(name)]))
  const about = { actorId: user.id, action: "api_key.changed", targetType: "api_key", targetId: key.id }
  await db().auditEntry.create({ data: { ...about, details } })
  const staff = await createUser({ role: "owner" })
  const { secret } = await createKey({ user: staff, surface: "admin" })
  const shown = names.filter((name) => auditDetails[name] === "everyone")

  const { data } = await GET.endpoint.read(`?targetId=${key.id}`)
  expect(marksIn(JSON.stringify(data))).toEqual(shown)
  expect(data).toMatchObject([{ details: { addresses: 2 } }])
  for (const accept of ["application/json", "application/x-ndjson", "text/csv"]) {
    const url = `http://localhost:3000/api/v1/admin/audit?targetId=${key.id}`
    const response = await GET(new Request(url, { headers: { "x-api-key": secret, accept } }))
    expect(marksIn(await response.text()), accept).toEqual(shown)
  }
  expect(marksIn(JSON.stringify(await activityForStaff(user.id)))).toEqual([])
})
