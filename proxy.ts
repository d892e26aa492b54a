import { randomBytes } from "node:crypto"
import { type NextRequest, NextResponse } from "next/server"
import { isOverloaded, overloaded } from "@/lib/postgres/load-shedding"
import { env } from "./lib/env"
import { isHttps, transportSecurity } from "./lib/https"

/** Gives every page its headers. It authorizes nothing: pages, actions and routes ask for themselves who calls. */
export function proxy(request: NextRequest): NextResponse {
  const refusal = refusalOf(request)
  if (refusal) return new NextResponse(refusal.message, { status: refusal.status })
  if (isOverloaded() && !probes.has(request.nextUrl.pathname)) {
    return new NextResponse(overloaded.message, { status: 503, headers: overloaded.headers })
  }
  const nonce = randomBytes(16).toString("base64")
  const policy = contentSecurityPolicy(nonce)
  // Next marks its own scripts with the nonce it finds here; what a client sends in its place is overwritten.
  const headers = new Headers(request.headers)
  headers.set("x-nonce", nonce)
  headers.set("content-security-policy", policy)
  headers.delete("content-security-policy-report-only")
  // Next compares it with one name alone, which a proxy in between may have changed.
  const origin = headers.get("origin")
  if (request.method === "POST" && origin !== null) headers.set("x-forwarded-host", new URL(origin).host)
  return NextResponse.next({
    request: { headers },
    headers: { "Content-Security-Policy": policy, ...transportSecurity() },
  })
}

/** What operators ask has to be answered above all when there is too much to do. */
const probes = new Set(["/healthz", "/readyz", "/metrics"])

/** Bytes of a form that Next reads. */
const maxFormBytes = 1024 * 1024

/** What Next would answer with a 500, and with its stack in the log. Every action asks for its origin itself, too. */
function refusalOf({ method, headers }: NextRequest): { status: number; message: string } | undefined {
  if (method !== "POST") return undefined
  const origin = headers.get("origin")
  if (origin !== null && !hostsOf(headers).includes(URL.canParse(origin) ? new URL(origin).host : undefined)) {
    return { status: 403, message: "This form was not sent from this site." }
  }
  if (/^multipart\/form-data(?!.*;\s*boundary=.)/i.test(headers.get("content-type") ?? "")) {
    return { status: 400, message: "This form has no boundary." }
  }
  if (Number(headers.get("content-length") ?? 0) > maxFormBytes)
    return { status: 413, message: "This form is too large." }
  return undefined
}

/** The names under which the client may have reached this site, as Next sees it: a proxy's, of several the first's. */
function hostsOf(headers: Headers): (string | undefined | null)[] {
  return [headers.get("x-forwarded-host")?.split(",")[0]?.trim(), headers.get("host")]
}

/** Pages and what a sign-in needs. The API sets its own headers, and files are the same for everybody. */
export const config = { matcher: ["/((?!api/|_next/static/).*)", "/api/auth/:path*"] }

function contentSecurityPolicy(nonce: string): string {
  const { NODE_ENV, GITHUB_CLIENT_ID, GOOGLE_CLIENT_ID } = env()
  // While it is developed, React compiles source maps and scripts put styles into the page.
  const isDevelopment = NODE_ENV === "development"
  const directives = [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    `style-src 'self' ${isDevelopment ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
    // Charts and menus are placed by attributes.
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    // Browsers hold a form to this also where its answer redirects: the providers' buttons are forms.
    `form-action 'self'${GITHUB_CLIENT_ID ? " https://github.com" : ""}${GOOGLE_CLIENT_ID ? " https://accounts.google.com" : ""}`,
    ...(isHttps() ? ["upgrade-insecure-requests"] : []),
  ]
  return directives.join("; ")
}
