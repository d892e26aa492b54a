import { randomBytes } from "node:crypto"
import { type NextRequest, NextResponse } from "next/server"
import { env } from "./lib/env"
import { isHttps, transportSecurity } from "./lib/https"

/** Gives every page its headers. It authorizes nothing: pages, actions and routes ask for themselves who calls. */
export function proxy(request: NextRequest): NextResponse {
  if (isSentFromElsewhere(request)) return new NextResponse("This form was not sent from this site.", { status: 403 })
  const nonce = randomBytes(16).toString("base64")
  const policy = contentSecurityPolicy(nonce)
  // Next marks its own scripts with the nonce it finds here; what a client sends in its place is overwritten.
  const headers = new Headers(request.headers)
  headers.set("x-nonce", nonce)
  headers.set("content-security-policy", policy)
  headers.delete("content-security-policy-report-only")
  return NextResponse.next({
    request: { headers },
    headers: { "Content-Security-Policy": policy, ...transportSecurity() },
  })
}

/** What Next would answer with a 500, and with its stack in the log. Every action asks for its origin itself, too. */
function isSentFromElsewhere({ method, headers }: NextRequest): boolean {
  const origin = headers.get("origin")
  if (method !== "POST" || origin === null) return false
  return !URL.canParse(origin) || new URL(origin).host !== (headers.get("x-forwarded-host") ?? headers.get("host"))
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
