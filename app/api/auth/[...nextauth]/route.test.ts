import { NextRequest } from "next/server"
import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { GET, POST } from "./route"

afterEach(() => {
  delete env().GITHUB_CLIENT_ID
})

function call(method: "GET" | "POST", path: string) {
  const request = new NextRequest(`http://localhost:3000/api/auth/${path}`, { method })
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
  ["GET", "csrf"],
  ["GET", "callback/credentials"],
  ["POST", "callback/credentials"],
  ["POST", "callback/github"],
  ["GET", "callback/github"],
] as const)("%s %s returns 404", async (method, path) => {
  const response = await call(method, path)
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: { code: "not_found", message: "There is nothing at this path." } })
})

test.each(["javascript:alert(1)", "http://[", "nowhere", "//", "ftp://example.com/"])(
  "the callback URL %s returns 400 and deletes the callback cookie",
  async (url) => {
    env().GITHUB_CLIENT_ID = "id"
    for (const headers of [{ cookie: `${cookieName("callback-url")}=${encodeURIComponent(url)}` }, undefined]) {
      const search = headers ? "" : `?callbackUrl=${encodeURIComponent(url)}`
      const request = new NextRequest(`http://localhost:3000/api/auth/callback/github${search}`, headers && { headers })
      const response = await GET(request, { params: Promise.resolve({ nextauth: ["callback", "github"] }) })
      expect(response.status).toBe(400)
      expect(response.headers.get("set-cookie")).toMatch(new RegExp(`^${cookieName("callback-url")}=;.* Max-Age=0`))
    }
  },
)
