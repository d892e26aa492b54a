import { expect, test } from "vitest"
import type { Term } from "@/lib/platform/postgres/search"
import { createKey, createUser } from "@/tests/support/factories"
import { findKeysByText } from "./data"

type User = Awaited<ReturnType<typeof createUser>>

async function namesFor(viewer: User, value: string, kind: Term["kind"] = "text"): Promise<string[]> {
  return (await findKeysByText({ kind, value }, viewer as never, 10)).map(({ name }) => name)
}

test("a name, the first characters or the id of a key finds it for the viewers who may open its page", async () => {
  const [customer, other, admin, analyst, support, finance] = [
    await createUser(),
    await createUser(),
    await createUser({ role: "admin" }),
    await createUser({ role: "analyst" }),
    await createUser({ role: "support" }),
    await createUser({ role: "finance" }),
  ]
  const { key } = await createKey({ user: customer, surface: "user", name: "Nightly findable" })
  await createKey({ user: other, surface: "user", name: "Somebody else's findable" })
  await createKey({ user: admin, surface: "admin", name: "Report findable" })
  await createKey({ user: finance, surface: "admin", name: "Books findable" })
  const ofCustomers = ["Nightly findable", "Somebody else's findable"]
  const named = async (viewer: User) => (await namesFor(viewer, "FINDABLE")).sort()
  expect(await named(customer)).toEqual(["Nightly findable"])
  expect(await named(admin)).toEqual([
    "Books findable",
    ...ofCustomers.slice(0, 1),
    "Report findable",
    ...ofCustomers.slice(1),
  ])
  expect(await named(analyst)).toEqual(ofCustomers)
  expect(await named(support)).toEqual([])
  expect(await named(finance)).toEqual(["Books findable"])
  expect(await namesFor(customer, "%")).toEqual([])
  for (const [viewer, names] of [
    [customer, ["Nightly findable"]],
    [other, []],
    [admin, ["Nightly findable"]],
    [support, []],
    [finance, []],
  ] as const) {
    expect(await namesFor(viewer, key.start, "key")).toEqual(names)
    expect(await namesFor(viewer, key.id, "id")).toEqual(names)
  }
})

test("a text finds the names of keys with other spellings of its quotes, hyphens and blanks", async () => {
  const user = await createUser()
  const spellings = ["Anna’s  night–job", "Anna's night-job"]
  for (const name of [...spellings, "Anna"]) await createKey({ user, surface: "user", name })
  for (const viewer of [user, await createUser({ role: "analyst" })]) {
    for (const text of ["anna's night-job", "ANNA’S  NIGHT—JOB"]) {
      expect((await namesFor(viewer, text)).sort()).toEqual([...spellings].sort())
    }
  }
})

test("the words key and API keys find the viewer's own keys, the last used first and revoked ones last", async () => {
  const user = await createUser()
  const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000)
  for (const [name, changes] of [
    ["Older", { lastUsedAt: ago(50) }],
    ["Never used", {}],
    ["Revoked", { lastUsedAt: ago(0), revokedAt: ago(1), revocationReason: "not_needed" }],
    ["Newer", { lastUsedAt: ago(2) }],
  ] as const) {
    await createKey({ user, surface: "user", name, ...changes })
  }
  for (const text of ["key", "Keys", "API keys"]) {
    expect(await namesFor(user, text)).toEqual(["Newer", "Older", "Never used", "Revoked"])
  }
  expect(await namesFor(user, "hockey")).toEqual([])
})
