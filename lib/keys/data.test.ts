import { expect, test } from "vitest"
import { createKey, createUser } from "@/tests/support/factories"
import { findKeysByText } from "./data"

test("a text finds the keys that the viewer's pages show, by a part of the name or by the first characters", async () => {
  const [customer, other, admin, finance] = [
    await createUser(),
    await createUser(),
    await createUser({ role: "admin" }),
    await createUser({ role: "finance" }),
  ]
  const [own] = [
    await createKey({ user: customer, surface: "user", name: "Nightly findable" }),
    await createKey({ user: other, surface: "user", name: "Somebody else's findable" }),
    await createKey({ user: admin, surface: "admin", name: "Report findable" }),
    await createKey({ user: finance, surface: "admin", name: "Books findable" }),
  ]
  const namesFor = async (viewer: typeof customer, text: string) =>
    (await findKeysByText(text, viewer as never, 10)).map(({ name }) => name).sort()
  expect(await namesFor(customer, "FINDABLE")).toEqual(["Nightly findable"])
  expect(await namesFor(customer, own.key.start)).toEqual(["Nightly findable"])
  expect(await namesFor(other, own.key.start)).toEqual([])
  expect(await namesFor(admin, "findable")).toEqual(["Books findable", "Report findable"])
  expect(await namesFor(finance, "findable")).toEqual(["Books findable"])
  expect(await namesFor(customer, "%")).toEqual([])
})

test("a text finds the names of keys with other spellings of its quotes, hyphens and blanks", async () => {
  const user = await createUser()
  for (const name of ["Anna’s  night–job", "Anna's night-job", "Anna"]) await createKey({ user, surface: "user", name })
  for (const text of ["anna's night-job", "ANNA’S  NIGHT—JOB"]) {
    expect(await findKeysByText(text, user as never, 10)).toHaveLength(2)
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
    const found = await findKeysByText(text, user as never, 10)
    expect(found.map(({ name }) => name)).toEqual(["Newer", "Older", "Never used", "Revoked"])
  }
  expect(await findKeysByText("hockey", user as never, 10)).toEqual([])
})
