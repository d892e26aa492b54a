import { NextRequest, NextResponse } from "next/server"
import NextAuth from "next-auth"
import { nothing } from "@/lib/api/answer"
import { authOptions, cookieName, cookieOptions, socialProviders } from "@/lib/auth"
import { env } from "@/lib/env"
import { localPath } from "@/lib/session"

type Context = { params: Promise<{ nextauth: string[] }> }

const maxBodyBytes = 16_384

/**
 * Of next-auth's endpoints those that a sign-in needs: the token for a form, the password form, and where providers send
 * the browser back. The others (its pages, its log, its session renewal) are not there.
 */
function isServed(method: "GET" | "POST", path: string): boolean {
  if (path === "csrf") return method === "GET"
  if (path === "callback/credentials") return method === "POST"
  return method === "GET" && socialProviders().some(({ id }) => path === `callback/${id}`)
}

function answer(method: "GET" | "POST") {
  return async (request: NextRequest, context: Context): Promise<Response> => {
    const path = (await context.params).nextauth.join("/")
    if (!isServed(method, path)) return nothing[method](request)
    if (!hasWayBack(request)) return forgetWayBack()
    if (method === "GET") return NextAuth(request, context, authOptions())
    const body = await readForm(request)
    if (body === undefined) return new Response(null, { status: 400 })
    // As our own form does: not every path that next-auth takes fits into the header that leads there.
    body.set("callbackUrl", localPath(body.get("callbackUrl") ?? undefined))
    return NextAuth(new NextRequest(request.url, { method, headers: request.headers, body }), context, authOptions())
  }
}

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

/** A form's fields, read no further than a sign-in can be long. */
async function readForm(request: Request): Promise<URLSearchParams | undefined> {
  const type = request.headers.get("content-type")?.split(";")[0]
  if (type !== "application/x-www-form-urlencoded" || !request.body) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"))
}

export const GET = answer("GET")
export const POST = answer("POST")
export const { HEAD, PUT, PATCH, DELETE, OPTIONS } = nothing
