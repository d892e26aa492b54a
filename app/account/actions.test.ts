import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, type LimitName, limits } from "@/lib/platform/rate-limit/rate-limit"
import { createApp, createViewer } from "@/tests/support/factories"
import { addApp, addKey, remove, replaceCodes } from "./security/two-factor/actions"
import { prepareExport } from "./settings/actions"

// Next's request exists only inside its server; tests/http sends forms to the build.
vi.mock("next/headers", () => ({
  headers: async () => new Headers({ origin: env().BASE_URL }),
  cookies: async () => ({ get: () => undefined }),
}))
vi.mock("next/cache", () => ({ revalidatePath: () => {} }))
vi.mock("next/server", () => ({ after: () => {} }))

const viewer = { ...(await createViewer()), isFresh: true }
vi.mock("@/lib/sign-in/browser-session", () => ({ currentViewer: async () => viewer, setSession: async () => {} }))

function form(fields: Record<string, string> = {}): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  return data
}

async function useUp(name: LimitName) {
  for (let count = 1; count < limits[name].tokens; count++) await consume(name, viewer.id)
}

const refused = (why: string) => ({ ok: false, message: expect.stringMatching(new RegExp(`^${why}\\. Try again`)) })

test("additions to the factors of one account share a limit; a refused one changes nothing, and a factor can still be removed", async () => {
  await createApp(viewer.id)
  expect(await replaceCodes(null, form())).toMatchObject({ ok: true })
  await useUp("factorChangesAccount")
  const codes = await db().recoveryCode.findMany({ where: { userId: viewer.id } })
  const results = [
    await replaceCodes(null, form()),
    await addApp(null, form({ code: "123456" })),
    await addKey(null, form({ name: "Laptop", response: "{}" })),
  ]
  expect(results).toMatchObject(results.map(() => refused("You changed your second factor too often")))
  expect(await db().recoveryCode.findMany({ where: { userId: viewer.id } })).toEqual(codes)
  expect(await db().authenticatorApp.count({ where: { userId: viewer.id } })).toBe(1)
  expect(await remove(null, form({ factor: "app" }))).toMatchObject({ ok: true })
})

test("exports of one account are limited", async () => {
  expect(await prepareExport(null, form())).toMatchObject({ ok: true })
  await useUp("exportsAccount")
  expect(await prepareExport(null, form())).toMatchObject(refused("You exported your data too often"))
})
