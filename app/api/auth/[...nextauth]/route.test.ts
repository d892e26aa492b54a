import { NextRequest } from "next/server"
import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { GET, POST } from "./route"

afterEach(() => {
  delete env().GITHUB_CLIENT_ID
})

function call(method: "GET" | "POST", path: string, init: { body?: string; headers?: Record<string, string> } = {}) {
  const request = new NextRequest(`http://localhost:3000/api/auth/${path}`, { method, ...init })
  return (method === "GET" ? GET : POST)(request, { params: Promise.resolve({ nextauth: path.split("/") }) })
}

test.each([
  ["GET", "session"],
  ["GET", "signout"],
  ["POST", "signout"],
  ["GET", "providers"],
  ["GET", "verify-request"],
  ["GET", "error"],
  ["GET", "foo"],
  ["POST", "_log"],
  ["POST", "signin/github"],
  ["GET", "callback/credentials"],
  ["GET", "callback/github"],
] as const)("%s %s is not there", async (method, path) => {
  const answer = await call(method, path)
  expect(answer.status).toBe(404)
  expect(await answer.json()).toEqual({ error: { code: "not_found", message: "There is nothing at this path." } })
})

test.each([
  ["a JSON body", { body: "{", headers: { "content-type": "application/json" } }],
  ["no body", {}],
  ["20 KB", { body: `email=${"a".repeat(20_000)}`, headers: { "content-type": "application/x-www-form-urlencoded" } }],
])("the password form refuses %s", async (_what, init) => {
  expect((await call("POST", "callback/credentials", init)).status).toBe(400)
})

test.each(["javascript:alert(1)", "http://[", "nowhere", "//", "ftp://example.com/"])(
  "%s is no way back: 400, and the browser is rid of the cookie that names it",
  async (address) => {
    for (const headers of [{ cookie: `tsk.callback-url=${encodeURIComponent(address)}` }, undefined]) {
      const search = headers ? "" : `?callbackUrl=${encodeURIComponent(address)}`
      const request = new NextRequest(`http://localhost:3000/api/auth/csrf${search}`, headers && { headers })
      const answer = await GET(request, { params: Promise.resolve({ nextauth: ["csrf"] }) })
      expect(answer.status).toBe(400)
      expect(answer.headers.get("set-cookie")).toMatch(/^tsk\.callback-url=;.* Max-Age=0/)
    }
  },
)
