import { randomUUID } from "node:crypto"
import { NextRequest } from "next/server"
import { beforeEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { singletons } from "@/lib/singleton"
import { proxy } from "@/proxy"
import { anotherAddress } from "./support/client"

// Load shedding of pages, before Next renders anything.

beforeEach(() => {
  // Replaces the measurement of the event loop.
  Object.assign(singletons, { lateness: { periods: 0, until: 0 } })
})

function visit(path: string, { method = "GET", ...headers }: Record<string, string> = {}) {
  return proxy(new NextRequest(new URL(path, env().BASE_URL), { method, headers }))
}

const isPassed = ({ headers }: Response) => headers.get("x-middleware-next") === "1"

/** Uses up all but one of the pages of an address. */
async function leaveOne(address: string): Promise<void> {
  for (let sent = 1; sent < limits.pagesAddress.tokens; sent++) await consume("pagesAddress", address)
}

test("an address gets a number of pages a minute; other addresses and probes are not affected", async () => {
  const address = anotherAddress()
  const headers = { [socketAddressHeader]: address }
  await leaveOne(address)
  expect(isPassed(await visit("/sign-in", headers))).toBe(true)
  const refused = await visit("/docs", headers)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  expect(await refused.text()).toMatch(/^Too many pages were requested from here\. Try again in \d+ seconds\.$/)
  for (const path of ["/readyz", "/healthz", "/metrics", `/pictures/${randomUUID()}`]) {
    expect(isPassed(await visit(path, headers)), path).toBe(true)
  }
  expect(isPassed(await visit("/sign-in", { [socketAddressHeader]: anotherAddress() }))).toBe(true)
})

test("clients behind a proxy on this machine that is not trusted do not share a limit", async () => {
  for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "::1"]) {
    await leaveOne(address === "::1" ? "::/64" : "127.0.0.1")
    for (const _ of [1, 2]) expect(isPassed(await visit("/sign-in", { [socketAddressHeader]: address }))).toBe(true)
  }
})

test("Next renders no page while the event loop is late", async () => {
  Object.assign(singletons, { lateness: { periods: 2, until: Number.POSITIVE_INFINITY } })
  const refused = await visit("/")
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"])
  expect(isPassed(await visit("/readyz"))).toBe(true)
})

test.each(["POST", "PUT", "DELETE", "OPTIONS"])("%s of a document is refused before it is rendered", async (method) => {
  const refused = await visit("/docs/admin", { method })
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"])
  expect(isPassed(await visit("/docs/admin", { method: "HEAD" }))).toBe(true)
})
