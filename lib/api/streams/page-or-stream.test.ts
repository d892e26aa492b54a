import { expect, test } from "vitest"
import { databaseDeadline } from "@/lib/platform/postgres/deadline"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createUser } from "@/tests/support/factories"
import { authorize, countRequest, findKeyIn } from "../authenticate"
import { ndjson } from "./formats"
import { readingOf } from "./page-or-stream"

test("a stream checks again every permission that it needed, including the endpoint's", async () => {
  const { key, secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })
  const url = new URL("http://localhost:3000")
  const request = new Request(url, { headers: { "x-api-key": secret, accept: "application/x-ndjson" } })
  const access = { surface: "admin", permission: undefined, scope: undefined } as const
  const found = (await findKeyIn(request.headers)) ?? expect.fail("no key")
  const caller = authorize(found, await countRequest(found, request.headers), access)
  const call = {
    request,
    url,
    caller,
    access,
    withinDeadline: databaseDeadline(),
    deadline: databaseDeadline(),
    draft: { headers: {} },
  }
  const { format, checkPermission, reader } = readingOf(call)
  expect(format).toBe(ndjson)
  checkPermission("users.read")
  await expect(reader.check()).resolves.toBeUndefined()
  await db().apiKey.update({ where: { id: key.id }, data: { scopes: ["billing.read"] } })
  await expect(reader.check()).rejects.toMatchObject({ code: "missing_scope" })
})
