import { randomBytes } from "node:crypto"
import { type NextRequest, NextResponse } from "next/server"
import { maxBytesOf, tooLarge } from "@/lib/body-limits"
import { pageAfter, uploadPath } from "@/lib/pictures/upload"
import { isOverloaded, overloaded } from "@/lib/postgres/load-shedding"
import { env } from "./lib/env"
import { isHttps, transportSecurity } from "./lib/https"

/** Sets the headers of every page. It authorizes nothing: pages, actions and routes authenticate each request. */
export function proxy(request: NextRequest): NextResponse {
  const refusal = refusalOf(request)
  if (refusal) return refusal
  if (isOverloaded() && !probes.has(request.nextUrl.pathname)) {
    return new NextResponse(overloaded.message, { status: 503, headers: overloaded.headers })
  }
  const nonce = randomBytes(16).toString("base64")
  // This replaces a policy that a route sets itself.
  const isPicture = request.nextUrl.pathname.startsWith("/pictures/")
  const policy = isPicture ? "default-src 'none'" : contentSecurityPolicy(nonce)
  // Next adds the nonce in this header to its own scripts; a value sent by a client is overwritten.
  const headers = new Headers(request.headers)
  headers.set("x-nonce", nonce)
  headers.set("content-security-policy", policy)
  headers.delete("content-security-policy-report-only")
  // Next compares the origin with this header only, which a proxy may have changed.
  const origin = headers.get("origin")
  if (request.method === "POST" && origin !== null) headers.set("x-forwarded-host", new URL(origin).host)
  return NextResponse.next({
    request: { headers },
    headers: { "Content-Security-Policy": policy, ...transportSecurity() },
  })
}

/** Probes must get a response especially under overload. */
const probes = new Set(["/healthz", "/readyz", "/metrics"])

/**
 * Requests for which Next would return a 500 and log a stack trace. Every action also checks its origin itself. Our
 * listener refuses by size before Next reads anything: see server/bodies.ts.
 */
function refusalOf({ method, headers, nextUrl }: NextRequest): NextResponse | undefined {
  const isTooLarge = Number(headers.get("content-length") ?? 0) > maxBytesOf(method, nextUrl.pathname)
  if (isTooLarge && nextUrl.pathname === uploadPath) {
    return NextResponse.redirect(new URL(pageAfter("too_large"), nextUrl), 303)
  }
  if (isTooLarge) return new NextResponse(tooLarge, { status: 413 })
  if (method !== "POST") return undefined
  const origin = headers.get("origin")
  if (origin !== null && !hostsOf(headers).includes(URL.canParse(origin) ? new URL(origin).host : undefined)) {
    return new NextResponse("This form was not sent from this site.", { status: 403 })
  }
  if (/^multipart\/form-data(?!.*;\s*boundary=.)/i.test(headers.get("content-type") ?? "")) {
    return new NextResponse("This multipart form has no boundary.", { status: 400 })
  }
  return undefined
}

/** The host names that Next accepts as this site: the first X-Forwarded-Host, and Host. */
function hostsOf(headers: Headers): (string | undefined | null)[] {
  return [headers.get("x-forwarded-host")?.split(",")[0]?.trim(), headers.get("host")]
}

/** Pages and next-auth. The API sets its own headers, and the headers of files do not depend on the request. */
export const config = { matcher: ["/((?!api/|_next/static/).*)", "/api/auth/:path*"] }

function contentSecurityPolicy(nonce: string): string {
  const { NODE_ENV, GITHUB_CLIENT_ID, GOOGLE_CLIENT_ID } = env()
  // In development React evaluates source maps, and scripts insert styles.
  const isDevelopment = NODE_ENV === "development"
  const directives = [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    `style-src 'self' ${isDevelopment ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
    // Charts and menus are positioned by style attributes.
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    // Browsers also apply this to the redirect after a form, and the buttons of the providers are forms.
    `form-action 'self'${GITHUB_CLIENT_ID ? " https://github.com" : ""}${GOOGLE_CLIENT_ID ? " https://accounts.google.com" : ""}`,
    ...(isHttps() ? ["upgrade-insecure-requests"] : []),
  ]
  return directives.join("; ")
}
