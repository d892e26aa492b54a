import { type NextRequest, NextResponse } from "next/server"
import NextAuth from "next-auth"
import { nothing } from "@/lib/api/respond"
import { env } from "@/lib/env"
import { cookieName, cookieOptions } from "@/lib/sign-in/cookies"
import { authOptions } from "@/lib/sign-in/next-auth"
import { socialProviders } from "@/lib/sign-in/providers"

type Context = { params: Promise<{ nextauth: string[] }> }

/** Where providers send the browser back to: the only one of next-auth's endpoints that is served. */
export async function GET(request: NextRequest, context: Context): Promise<Response> {
  const path = (await context.params).nextauth.join("/")
  if (!socialProviders().some(({ id }) => path === `callback/${id}`)) return nothing.GET(request)
  if (!hasWayBack(request)) return forgetWayBack()
  const response: Response = await NextAuth(request, context, authOptions())
  const location = new URL(response.headers.get("location") ?? "", env().BASE_URL)
  // next-auth leads to its own pages, which would lead on to this one.
  if (/^\/api\/auth\/(error|signin)$/.test(location.pathname))
    response.headers.set("location", `/sign-in${location.search}`)
  return response
}

export const { HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing

/** Whether next-auth can lead on from here: an address that is none it answers with a 500. */
function hasWayBack({ nextUrl, cookies }: NextRequest): boolean {
  const addresses = [
    ...nextUrl.searchParams.getAll("callbackUrl"),
    cookies.get(cookieName("callback-url"))?.value ?? "",
  ]
  return addresses.every((address) => {
    if (address === "") return true
    const base = address.startsWith("/") ? env().BASE_URL : undefined
    return URL.canParse(address, base) && /^https?:$/.test(new URL(address, base).protocol)
  })
}

/** A browser that was given such an address is rid of it, and can sign in. */
function forgetWayBack(): Response {
  const response = new NextResponse(null, { status: 400 })
  response.cookies.set(cookieName("callback-url"), "", { ...cookieOptions(), maxAge: 0 })
  return response
}
