import { type NextRequest, NextResponse } from "next/server"
import NextAuth from "next-auth"
import { nothing } from "@/lib/api/methods"
import { env } from "@/lib/env"
import { cookieName, cookieOptions } from "@/lib/sign-in/cookies"
import { authOptions, onOurPages } from "@/lib/sign-in/next-auth"
import { socialProviders } from "@/lib/sign-in/providers"
import { revokeSession } from "@/lib/sign-in/session"
import { log } from "@/lib/telemetry/log"

type Context = { params: Promise<{ nextauth: string[] }> }

/** The callback that providers redirect the browser to: the only next-auth endpoint that is exposed. */
export async function GET(request: NextRequest, context: Context): Promise<Response> {
  const path = (await context.params).nextauth.join("/")
  if (!socialProviders().some(({ id }) => path === `callback/${id}`)) return nothing.GET(request)
  if (!hasValidCallbackUrl(request)) return clearCallbackUrl()
  if (!isCodeResponse(request)) return NextResponse.redirect(new URL("/sign-in?error=OAuthCallback", env().BASE_URL))
  const response = await callNextAuth(request, context)
  response.headers.set("location", onOurPages(response.headers.get("location")))
  const startsSession = response.headers.getSetCookie().some((line) => line.startsWith(`${cookieName("session")}=ey`))
  if (startsSession) await revokeSession()
  return response
}

export const { HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing

/** next-auth throws if it cannot serialize the name of a cookie that it clears. */
async function callNextAuth(request: NextRequest, context: Context): Promise<Response> {
  try {
    return await NextAuth(request, context, authOptions())
  } catch (error) {
    log().error({ why: String(error) }, "next_auth_failed")
    return new Response(null, { status: 302, headers: { location: "/sign-in?error=Callback" } })
  }
}

/**
 * Whether the request contains a code or an error. openid-client also accepts a token from the URL, issued to any
 * application: an attacker could sign in with another person's token.
 */
function isCodeResponse({ nextUrl: { searchParams } }: NextRequest): boolean {
  const tokens = ["access_token", "id_token", "refresh_token", "response"]
  return (
    !tokens.some((name) => searchParams.has(name)) && Boolean(searchParams.get("code") || searchParams.get("error"))
  )
}

/** Checked first, because next-auth returns a 500 for a callback URL that is not a valid HTTP or HTTPS URL. */
function hasValidCallbackUrl({ nextUrl, cookies }: NextRequest): boolean {
  const urls = [...nextUrl.searchParams.getAll("callbackUrl"), cookies.get(cookieName("callback-url"))?.value ?? ""]
  return urls.every((url) => {
    if (url === "") return true
    const base = url.startsWith("/") ? env().BASE_URL : undefined
    return URL.canParse(url, base) && /^https?:$/.test(new URL(url, base).protocol)
  })
}

/** Deletes the cookie with the invalid callback URL, so that the next sign-in succeeds. */
function clearCallbackUrl(): Response {
  const response = new NextResponse(null, { status: 400 })
  response.cookies.set(cookieName("callback-url"), "", { ...cookieOptions(), maxAge: 0 })
  return response
}
