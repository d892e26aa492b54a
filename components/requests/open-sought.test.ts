import { expect, test } from "vitest"
import { drainRequestLog, logRequest } from "@/lib/request-log/write"
import { createKey, createUser, requestWith } from "@/tests/support/factories"
import { openSought } from "./open-sought"

test("the search for an account shows its requests, also if a request has the id of the account", async () => {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "user" })
  logRequest(requestWith(key, { createdAt: new Date(), requestId: user.id }))
  logRequest(requestWith(key, { createdAt: new Date(), requestId: "of-a-client" }))
  await drainRequestLog()
  const list = "/admin/requests"
  expect(await openSought(list, { userId: user.id })).toBeUndefined()
  for (const name of ["userId", "requestId"]) {
    await expect(openSought(list, { [name]: "of-a-client" })).rejects.toThrow("NEXT_REDIRECT")
  }
})
