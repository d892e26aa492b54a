import { beforeAll, describe, expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import type { Listener } from "@/scripts/build-and-serve"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { exchange, responsesIn, summaryOf } from "@/tests/support/raw-http"
import { listeners } from "@/tests/support/sample"
import type { TestServer } from "@/tests/support/server"
import { server, startAnother } from "@/tests/support/shared-server"
import { key, malformed, sameResponses, truncated } from "./raw-requests"

// Raw connections, with requests that no client library sends. listener.test.ts covers timeouts.

/** Creates an account with a key and credits. */
async function customer() {
  const user = await createUser({ role: "owner" })
  await grantCredits(user.id, 10_000)
  return { id: user.id, secret: (await createKey({ user, surface: "user" })).secret }
}

let caller: Awaited<ReturnType<typeof customer>>

beforeAll(async () => {
  caller = await customer()
})

describe.each(listeners)("%s", (listener) => {
  let to: TestServer

  beforeAll(async () => {
    to = listener === "lean" ? server : await startAnother(listener)
    return () => (to === server ? undefined : to.stop())
  })

  /** A summary of each response to the sent bytes. */
  async function responsesTo(sent: readonly string[], end = false): Promise<string[]> {
    const parts = sent.map((part) => part.replaceAll(key, caller.secret))
    return responsesIn(await exchange(to.port, parts, end)).map(summaryOf)
  }

  test.each(sameResponses)("returns the listed responses to %s", async (_name, sent, responses) => {
    expect(await responsesTo(sent)).toEqual(responses)
  })

  test.each(malformed)(
    "refuses %s once, as malformed HTTP, and closes the connection",
    async (_name, sent, response) => {
      expect(await responsesTo([sent])).toEqual([expected(listener, response)])
    },
  )

  test.each(truncated)("refuses %s once and closes the connection", async (_name, sent) => {
    expect(await responsesTo([sent], true)).toEqual([expected(listener, "400 bad_request")])
  })

  test("starts no run for malformed or truncated HTTP", async () => {
    const before = await db().run.count({ where: { userId: caller.id } })
    for (const [, sent] of [...malformed, ...truncated]) await responsesTo([sent], true)
    expect(await db().run.count({ where: { userId: caller.id } })).toBe(before)
  })
})

function expected(listener: Listener, response: string): string {
  return listener === "lean" ? response : response.replace(/ .*/, " without a body")
}
