import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { anotherAddress, ask, builtActions, callAction, type SentHeaders } from "@/tests/support/client"
import { listeners } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { server as withMailServer } from "@/tests/support/shared-server"

// The mailbox of the demo holds links that sign in, so it is open on this machine only.

/** The path of the HTML part of an email that the server has kept. */
async function keptEmail(server: TestServer): Promise<string> {
  const email = `${randomUUID()}@example.com`
  const action = (await builtActions()).find(({ name }) => name === "sign-up createAccount")
  if (!action) throw new Error("There is no sign-up.")
  const fields = { name: "New", email, password: "correct horse battery staple" }
  await callAction(server, action, { path: "/sign-up", fields })
  await expect.poll(async () => (await visit(server, "/dev/mailbox")).text).toContain(email)
  return /\/dev\/mailbox\/[\w-]{36}/.exec((await visit(server, "/dev/mailbox")).text)?.[0] ?? ""
}

function visit(server: TestServer, path: string, headers: SentHeaders = {}) {
  return ask(server, { path, headers: { host: `localhost:${server.port}`, ...headers } })
}

test.each(listeners)("only this machine can read the emails, served by %s", async (listener) => {
  const server = await startTestServer(listener)
  const email = await keptEmail(server)
  const forwarded = [
    { "x-forwarded-for": anotherAddress() },
    { "x-forwarded-for": "127.0.0.1" },
    { "x-forwarded-host": "localhost" },
    { "x-forwarded-proto": "http" },
    { "x-real-ip": "127.0.0.1" },
    { forwarded: "for=127.0.0.1" },
    { via: "1.1 proxy" },
    { host: "mail.example.com" },
    { host: "192.168.1.5:3000" },
    { host: "localhost.example.com" },
    { host: "" },
    { host: "x@localhost" },
    { host: "localhost#.example.com" },
    { host: "mail.example.com/.localhost" },
    { "cf-connecting-ip": "127.0.0.1" },
  ]
  const spellings = [
    "/x/../dev/mailbox",
    "/api/../dev/mailbox",
    "/./dev/mailbox",
    "/%64ev/mailbox",
    "/dev/mailbox?x",
    "/dev/mailbox/",
  ]
  for (const path of spellings) {
    const { text } = await visit(server, path, { "x-forwarded-for": "127.0.0.1" })
    expect([path, text.includes("/verify/")]).toEqual([path, false])
  }
  for (const path of ["/dev/mailbox", email]) {
    for (const host of ["localhost", "127.0.0.1", "[::1]", "app.localhost:3000"]) {
      expect([host, (await visit(server, path, { host })).status]).toEqual([host, 200])
    }
    for (const headers of forwarded) {
      const { status, text } = await visit(server, path, headers)
      expect([headers, status >= 400, text.includes("/verify/")]).toEqual([headers, true, false])
    }
  }
  const page = await visit(server, email)
  expect(page.headers.get("cache-control")).toBe("no-store")
  expect(page.headers.get("content-security-policy")).toContain("script-src 'self' 'nonce-")
  await server.stop()
})

// processes.test.ts asks for it in production.
test("with a mail server there is no mailbox", async () => {
  expect((await visit(withMailServer, "/dev/mailbox")).status).toBe(404)
})
