import { after, type NextRequest, NextResponse } from "next/server"
import NextAuth, { type Account, type NextAuthOptions } from "next-auth"
import { nothing } from "@/lib/api/methods"
import { env } from "@/lib/env"
import { sendEmail } from "@/lib/platform/email/send"
import { cookieName, cookieOptions } from "@/lib/platform/http/cookies"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import {
  appendDeviceCookie,
  appendPendingCookie,
  currentViewer,
  pageOfStep,
  revokeSession,
  startedBy,
} from "@/lib/sign-in/browser-session"
import { authOptions, onOurPages } from "@/lib/sign-in/next-auth"
import { consumeConnectIntent } from "@/lib/sign-in/providers/connect-intent"
import { connectProvider } from "@/lib/sign-in/providers/provider-accounts"
import { type ProviderId, providerName, socialProviders } from "@/lib/sign-in/providers/providers"

type Context = { params: Promise<{ nextauth: string[] }> }

/** The callback of providers is the only next-auth endpoint that is exposed. */
export async function GET(request: NextRequest, context: Context): Promise<Response> {
  const path = (await context.params).nextauth.join("/")
  const provider = socialProviders().find(({ id }) => path === `callback/${id}`)
  if (!provider) return nothing.GET(request)
  if (!hasValidCallbackUrl(request)) return clearCallbackUrl()
  // Each sign-in is audited, and the audit log keeps everything.
  const { allowed } = await consume("signInAddress", clientAddress(request.headers))
  if (!allowed) return NextResponse.redirect(new URL("/sign-in?error=TooMany", env().BASE_URL))
  const nonce = request.cookies.get(cookieName("connect"))?.value
  if (nonce) return connect(request, context, provider.id, nonce)
  if (!isCodeResponse(request)) return NextResponse.redirect(new URL("/sign-in?error=OAuthCallback", env().BASE_URL))
  const response = await callNextAuth(request, context, authOptions())
  response.headers.set("location", onOurPages(response.headers.get("location")))
  const started = response.headers.getSetCookie().find((line) => line.startsWith(`${cookieName("session")}=ey`))
  return started ? whenStarted(response, started) : response
}

async function whenStarted(response: Response, line: string): Promise<Response> {
  await revokeSession()
  const started = await startedBy(line)
  if ("session" in started) {
    await appendDeviceCookie(response, started.session).catch((error) =>
      log().error({ why: String(error) }, "device_not_set"),
    )
    return response
  }
  const { pathname, search } = new URL(response.headers.get("location") ?? "", env().BASE_URL)
  const waiting = NextResponse.redirect(
    new URL(pageOfStep(started.step, pathname === "/sign-in" ? "/" : pathname + search), env().BASE_URL),
  )
  for (const other of response.headers.getSetCookie()) if (other !== line) waiting.headers.append("set-cookie", other)
  appendPendingCookie(waiting, started.pending)
  return waiting
}

export const { HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing

/** Never signs anyone in. A second attempt needs a new intent. */
async function connect(request: NextRequest, context: Context, provider: ProviderId, nonce: string) {
  const outcome = await connection(request, context, provider, nonce).catch((error) => {
    log().error({ why: String(error) }, "provider_not_connected")
    return "failed"
  })
  const response = NextResponse.redirect(new URL(`/account/security?connection=${outcome}#ways`, env().BASE_URL), 303)
  for (const name of ["connect", "state", "pkce"]) {
    response.cookies.set(cookieName(name), "", { ...cookieOptions(), maxAge: 0 })
  }
  return response
}

async function connection(request: NextRequest, context: Context, provider: ProviderId, nonce: string) {
  const viewer = await currentViewer()
  if (!viewer || !(await consumeConnectIntent(viewer, provider, nonce))) return "expired"
  const account = isCodeResponse(request) && (await identify(request, context))
  if (!account) return "failed"
  const outcome = await connectProvider(viewer, account)
  if (outcome === "connected") {
    after(() => sendEmail(viewer, "provider_connected", { provider: providerName(provider) }))
  }
  return outcome
}

/** next-auth stops at a redirect from `signIn`. */
async function identify(request: NextRequest, context: Context): Promise<Account | undefined> {
  const found: Account[] = []
  const options = authOptions()
  const signIn = ({ account }: { account: Account | null }) => {
    if (account) found.push(account)
    return "/account/security"
  }
  await callNextAuth(request, context, { ...options, callbacks: { ...options.callbacks, signIn } })
  return found[0]
}

/** next-auth throws if it cannot serialize the name of a cookie that it clears. */
async function callNextAuth(request: NextRequest, context: Context, options: NextAuthOptions): Promise<Response> {
  try {
    return await NextAuth(request, context, options)
  } catch (error) {
    log().error({ why: String(error) }, "next_auth_failed")
    return new Response(null, { status: 302, headers: { location: "/sign-in?error=Callback" } })
  }
}

/**
 * openid-client also accepts a token from the URL, issued to any application: an attacker could sign in with another
 * person's token.
 */
function isCodeResponse({ nextUrl: { searchParams } }: NextRequest): boolean {
  const tokens = ["access_token", "id_token", "refresh_token", "response"]
  return (
    !tokens.some((name) => searchParams.has(name)) && Boolean(searchParams.get("code") || searchParams.get("error"))
  )
}

/** next-auth returns a 500 for a callback URL that is not a valid HTTP or HTTPS URL. */
function hasValidCallbackUrl({ nextUrl, cookies }: NextRequest): boolean {
  const urls = [...nextUrl.searchParams.getAll("callbackUrl"), cookies.get(cookieName("callback-url"))?.value ?? ""]
  return urls.every((url) => {
    if (url === "") return true
    const base = url.startsWith("/") ? env().BASE_URL : undefined
    return URL.canParse(url, base) && /^https?:$/.test(new URL(url, base).protocol)
  })
}

/** Without the cookie, the next sign-in succeeds. */
function clearCallbackUrl(): Response {
  const response = new NextResponse(null, { status: 400 })
  response.cookies.set(cookieName("callback-url"), "", { ...cookieOptions(), maxAge: 0 })
  return response
}
