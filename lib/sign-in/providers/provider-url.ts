import { cookies } from "next/headers"
import { NextRequest, NextResponse } from "next/server"
import NextAuth from "next-auth"
import { env } from "@/lib/env"
import { cookieName, cookieOptions } from "@/lib/platform/http/cookies"
import { authOptions, onOurPages } from "../next-auth"

/** next-auth expects a POST with its CSRF token; calling it on the server saves the page a round trip and a script. */
export async function providerSignInUrl(provider: string, callbackUrl: string): Promise<string> {
  // next-auth returns a 500 for an invalid URL in its cookie, and the parameter below decides in any case.
  const jar = await cookies()
  jar.set(cookieName("callback-url"), "", { ...cookieOptions(), maxAge: 0 })
  // A connection that was not finished must not turn this into one: see connect-intent.ts.
  jar.set(cookieName("connect"), "", { ...cookieOptions(), maxAge: 0 })
  const csrf = await callNextAuth(["csrf"])
  const { csrfToken } = (await csrf.json()) as { csrfToken: string }
  const response = await callNextAuth(["signin", provider], new URLSearchParams({ csrfToken, callbackUrl }))
  return onOurPages(response.headers.get("location"))
}

async function callNextAuth(path: string[], body?: URLSearchParams): Promise<Response> {
  const options = authOptions()
  const url = `${env().BASE_URL}/api/auth/${path.join("/")}`
  const request = new NextRequest(url, body ? { method: "POST", body } : {})
  const response: Response = await NextAuth(request, { params: Promise.resolve({ nextauth: path }) }, options)
  const jar = await cookies()
  for (const cookie of new NextResponse(null, { headers: response.headers }).cookies.getAll()) jar.set(cookie)
  return response
}
