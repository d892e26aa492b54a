import { type NextRequest, NextResponse } from "next/server"
import NextAuth from "next-auth"
import { nothing } from "@/lib/api/respond"
import { env } from "@/lib/env"
import { cookieName, cookieOptions } from "@/lib/sign-in/cookies"
import { authOptions } from "@/lib/sign-in/next-auth"
import { socialProviders } from "@/lib/sign-in/providers"

type Context = { params: Promise<{ nextauth: string[] }> }

/** The callback that providers redirect the browser to: the only next-auth endpoint that is exposed. */
export async function GET(request: NextRequest, context: Context): Promise<Response> {
  const path = (await context.params).nextauth.join("/")
  if (!socialProviders().some(({ id }) => path === `callback/${id}`)) return nothing.GET(request)
  if (!hasValidCallbackUrl(request)) return clearCallbackUrl()
  const response: Response = await NextAuth(request, context, authOptions())
  const location = new URL(response.headers.get("location") ?? "", env().BASE_URL)
  // next-auth redirects errors to its own pages, which are not exposed: redirect to our sign-in page instead.
  if (/^\/api\/auth\/(error|signin)$/.test(location.pathname))
    response.headers.set("location", `/sign-in${location.search}`)
  return response
}

export const { HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing

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
