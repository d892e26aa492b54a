import { randomBytes } from "node:crypto"
import { type NextRequest, NextResponse } from "next/server"
import { pageAfter } from "@/lib/pictures/upload"
import { maxBytesOf, tooLarge, uploadPath } from "@/lib/platform/http/body-limits"
import { documentPaths, documentWith, routerHeader } from "@/lib/platform/http/documents"
import { clientAddress, wholeClientAddress } from "@/lib/platform/rate-limit/client-address"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { env, isLoopback } from "./lib/env"
import { isHttps, transportSecurity } from "./lib/platform/http/https"
import { probes, shedPage } from "./lib/process/page-shedding"

/** Sets the headers of every page. It authorizes nothing: pages, actions and routes authenticate each request. */
export async function proxy(request: NextRequest): Promise<Response> {
  const refusal = refusalOf(request) ?? (await refusalByLoad(request))
  if (refusal) return refusal
  const nonce = randomBytes(16).toString("base64")
  const { pathname } = request.nextUrl
  // This replaces a policy that a route sets itself.
  const isPicture = pathname.startsWith("/pictures/")
  const policy = isPicture ? "default-src 'none'" : contentSecurityPolicy(nonce)
  const sent = { "Content-Security-Policy": policy, ...transportSecurity() }
  const document = documentWith(nonce, pathname, request.headers.get("cookie") ?? undefined)
  if (document !== undefined) {
    const fields = { ...sent, "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" }
    return new NextResponse(request.headers.has(routerHeader) ? "" : document, { headers: fields })
  }
  // Next adds the nonce in this header to its own scripts; a value sent by a client is overwritten.
  const headers = new Headers(request.headers)
  headers.set("x-nonce", nonce)
  headers.set("content-security-policy", policy)
  headers.delete("content-security-policy-report-only")
  // Next compares the origin with this header only, which a proxy may have changed.
  const origin = headers.get("origin")
  if (request.method === "POST" && origin !== null) headers.set("x-forwarded-host", new URL(origin).host)
  return NextResponse.next({ request: { headers }, headers: sent })
}

/** The refusal under load, which our listener has made already, and of a client that requests too many pages. */
async function refusalByLoad(request: NextRequest): Promise<Response | undefined> {
  const { pathname } = request.nextUrl
  const shed = shedPage(pathname)
  // A page can show many pictures.
  if (shed || probes.has(pathname) || pathname.startsWith("/pictures/")) return shed
  // Behind a proxy on this machine that is not trusted, all clients have its address.
  if (isLoopback(wholeClientAddress(request.headers) ?? "")) return undefined
  const { allowed, resetSeconds } = await consume("pagesAddress", clientAddress(request.headers))
  if (allowed) return undefined
  const message = `Too many pages were requested from here. Try again in ${resetSeconds} seconds.`
  return new NextResponse(message, { status: 429, headers: { "Retry-After": String(resetSeconds) } })
}

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
  if (!["GET", "HEAD"].includes(method) && documentPaths.includes(nextUrl.pathname)) {
    return new NextResponse("Allowed: GET, HEAD.", { status: 405, headers: { Allow: "GET, HEAD" } })
  }
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
export const config = { matcher: ["/((?!api/|mcp/|_next/static/).*)", "/api/auth/:path*"] }

function contentSecurityPolicy(nonce: string): string {
  const { NODE_ENV, GITHUB_CLIENT_ID, GOOGLE_CLIENT_ID, STRIPE_SECRET_KEY, STRIPE_API_URL } = env()
  const paymentPages = STRIPE_API_URL ?? "https://checkout.stripe.com https://billing.stripe.com"
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
    // Browsers also apply this to the redirect after a form: the buttons of the providers and the purchases are forms.
    `form-action 'self'${GITHUB_CLIENT_ID ? " https://github.com" : ""}${GOOGLE_CLIENT_ID ? " https://accounts.google.com" : ""}${STRIPE_SECRET_KEY ? ` ${paymentPages}` : ""}`,
    ...(isHttps() ? ["upgrade-insecure-requests"] : []),
  ]
  return directives.join("; ")
}
