import { NextRequest } from "next/server"
import NextAuth from "next-auth"
import { nothing } from "@/lib/api/answer"
import { authOptions, socialProviders } from "@/lib/auth"

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
    if (method === "GET") return NextAuth(request, context, authOptions())
    const body = await readForm(request)
    if (body === undefined) return new Response(null, { status: 400 })
    return NextAuth(new NextRequest(request.url, { method, headers: request.headers, body }), context, authOptions())
  }
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
