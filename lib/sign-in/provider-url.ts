import { cookies } from "next/headers"
import { NextRequest, NextResponse } from "next/server"
import NextAuth from "next-auth"
import { env } from "@/lib/env"
import { authOptions } from "./next-auth"

/**
 * Where to send the browser so that it signs in at a provider. next-auth wants a POST with a token that it has put into a
 * cookie before; asking it from here spares the page that round trip and the script for it.
 */
export async function providerSignInUrl(provider: string, callbackUrl: string): Promise<string> {
  const token = await askNextAuth(["csrf"])
  const { csrfToken } = (await token.json()) as { csrfToken: string }
  const response = await askNextAuth(["signin", provider], new URLSearchParams({ csrfToken, callbackUrl }))
  return response.headers.get("location") ?? "/sign-in?error=OAuthSignin"
}

/** Asks as the browser would, and hands the cookies of the answer on to it. */
async function askNextAuth(path: string[], body?: URLSearchParams): Promise<Response> {
  const options = authOptions()
  const url = `${env().BASE_URL}/api/auth/${path.join("/")}`
  const request = new NextRequest(url, body ? { method: "POST", body } : {})
  const response: Response = await NextAuth(request, { params: Promise.resolve({ nextauth: path }) }, options)
  const jar = await cookies()
  for (const cookie of new NextResponse(null, { headers: response.headers }).cookies.getAll()) jar.set(cookie)
  return response
}
