import { expect, test } from "vitest"
import { databaseDeadline } from "@/lib/platform/postgres/deadline"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createUser } from "@/tests/support/factories"
import { authorize, countRequest, findKeyIn } from "../authenticate"
import { pageOrStream } from "./page-or-stream"

test("a stream asks again for every permission that it needed, not only for the endpoint's", async () => {
  const { key, secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })
  const request = new Request("http://localhost:3000", {
    headers: { "x-api-key": secret, accept: "application/x-ndjson" },
  })
  const access = { surface: "admin", permission: undefined, scope: undefined } as const
  const found = (await findKeyIn(request.headers)) ?? expect.fail("no key")
  const caller = authorize(found, await countRequest(found, request.headers), access)
  const context = { caller, access, withinDeadline: databaseDeadline(), draft: { headers: {} } }
  expect.assertions(2)
  await pageOrStream(request, context, {
    page: () => expect.fail("a page"),
    stream: async (demand, _format, { check }) => {
      demand("users.read")
      await expect(check()).resolves.toBeUndefined()
      await db().apiKey.update({ where: { id: key.id }, data: { scopes: ["billing.read"] } })
      await expect(check()).rejects.toMatchObject({ code: "missing_scope" })
      return { stream: new ReadableStream(), ended: Promise.resolve({ rows: 0 }) }
    },
  })
})
