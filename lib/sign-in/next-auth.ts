import { cookies, headers } from "next/headers"
import type { NextAuthOptions } from "next-auth"
import type { Adapter, AdapterAccount, AdapterUser } from "next-auth/adapters"
import GitHubProvider from "next-auth/providers/github"
import GoogleProvider from "next-auth/providers/google"
import type { User } from "@/generated/prisma/client"
import { createAccount } from "@/lib/accounts/create"
import { isRestorable } from "@/lib/accounts/deletion"
import { env } from "@/lib/env"
import { emailAddress, normalizeEmail } from "@/lib/platform/email/address"
import { sendEmail } from "@/lib/platform/email/send"
import { cookieName, cookieOptions, sessionMaxAgeSeconds } from "@/lib/platform/http/cookies"
import { localPath } from "@/lib/platform/http/local-path"
import { db } from "@/lib/platform/postgres/prisma"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { plainText } from "@/lib/platform/schemas/text"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"
import { signingSecret } from "./auth-secrets"
import { reportNewBrowser } from "./new-browser"
import { isConnected } from "./providers/provider-accounts"
import { gitHubUserinfo, googleProfile } from "./providers/provider-profiles"
import { createSession, discard, type SignInMethod } from "./session-rows"
import { auditFailedSignIn, auditSignIn } from "./sign-in-audit"

export function authOptions(): NextAuthOptions {
  return singleton("auth-options", () => {
    const { BASE_URL, GITHUB_CLIENT_ID, GITHUB_CLIENT_SECRET, GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET } = env()
    // next-auth reads its base URL only from this variable.
    process.env.NEXTAUTH_URL = BASE_URL
    const cookie = (name: string) => ({ name: cookieName(name), options: cookieOptions() })
    return {
      secret: signingSecret(),
      adapter: accountsAdapter,
      session: { strategy: "jwt", maxAge: sessionMaxAgeSeconds },
      // next-auth's callback-handler.js would link a provider to the account in the session cookie, even if that session
      // has ended. The state and PKCE cookies are decoded separately.
      jwt: { decode: async () => null, maxAge: sessionMaxAgeSeconds },
      pages: { signIn: "/sign-in", error: "/sign-in" },
      cookies: {
        sessionToken: cookie("session"),
        callbackUrl: cookie("callback-url"),
        csrfToken: cookie("csrf"),
        state: cookie("state"),
        pkceCodeVerifier: cookie("pkce"),
        nonce: cookie("nonce"),
      },
      providers: [
        ...(GITHUB_CLIENT_ID && GITHUB_CLIENT_SECRET
          ? [
              GitHubProvider({
                clientId: GITHUB_CLIENT_ID,
                clientSecret: GITHUB_CLIENT_SECRET,
                userinfo: gitHubUserinfo,
              }),
            ]
          : []),
        ...(GOOGLE_CLIENT_ID && GOOGLE_CLIENT_SECRET
          ? [
              GoogleProvider({
                clientId: GOOGLE_CLIENT_ID,
                clientSecret: GOOGLE_CLIENT_SECRET,
                profile: googleProfile,
              }),
            ]
          : []),
      ],
      callbacks: {
        async signIn({ user, account }) {
          const linked = account && (await findProviderAccount(account))
          if (!linked) return emailAddress.safeParse(user.email).success || "/sign-in?error=UnverifiedAddress"
          if (linked.user.status === "active" || (await isRestorable(linked.user))) return true
          const [via, address] = [account.provider as SignInMethod, clientAddress(await headers())]
          await auditFailedSignIn(linked.userId, { via, address, reason: "suspended" })
          return false
        },
        // Next decodes the callback cookie once more than it was encoded, so the URL is checked again here.
        redirect: ({ url, baseUrl }) => {
          const path = url.startsWith(`${baseUrl}/`) ? url.slice(baseUrl.length) : url
          const page = localPath(path)
          // The sign-in page redirects to the account's landing page, which depends on a role that is not known here.
          return `${baseUrl}${page === "/" ? "/sign-in" : page}`
        },
        // Called only for a sign-in, because `decode` returns no earlier session.
        async jwt({ user: { id }, account, trigger }) {
          const user = await db().user.findUniqueOrThrow({ where: { id } })
          if (!account) throw new Error("A sign-in is always through a provider.")
          const [via, client] = [account.provider as SignInMethod, await headers()]
          const started = await createSession(user, via, client)
          if (!started) throw new Error("The account changed during the sign-in.")
          // A disconnection at this moment ends the sessions that it sees; this one may not be among them.
          if (!(await isConnected(id, account))) {
            await discard(started)
            throw new Error("The provider was disconnected during the sign-in.")
          }
          // The route replaces it: see startedBy.
          if ("pending" in started) return { sub: id, ...started }
          const address = clientAddress(client)
          await auditSignIn(id, via, address)
          const device = (await cookies()).get(cookieName("device"))?.value
          if (trigger !== "signUp") await reportNewBrowser(user, { via }, { address, device })
          return started.session
        },
      },
      events: {
        async createUser({ user: { id, email } }) {
          await sendEmail({ id, email: email ?? "" }, "welcome")
        },
      },
      // next-auth's messages contain request details, so only the code is logged. The sign-in page shows failures.
      logger: { error: (code) => log().error({ code }, "next_auth_failed") },
    } satisfies NextAuthOptions
  })
}

/** next-auth's own pages are not exposed. An error code is one word; a message could contain internal details. */
export function onOurPages(location: string | null): string {
  const { pathname, searchParams } = new URL(location ?? "", env().BASE_URL)
  if (location !== null && !/^\/api\/auth\/(error|signin)$/.test(pathname)) return location
  const code = searchParams.get("error") ?? ""
  return `/sign-in?error=${/^[A-Za-z]+$/.test(code) ? code : "Callback"}`
}

/** The provider's tokens are not stored. */
export const accountsAdapter: Adapter = {
  async createUser(profile: Omit<AdapterUser, "id">) {
    const created = await createAccount({
      // `signIn` does not check the address of a linked provider, which may have been disconnected since.
      email: emailAddress.parse(profile.email),
      // As strict as the sign-up form; without a valid name the account is named after its address.
      name: plainText({ name: "Name", max: 100 }).safeParse(profile.name).data ?? "",
      // An address that the provider does not call verified never gets here: see `signIn`.
      emailVerified: new Date(),
      image: profile.image ?? null,
    })
    if (!created.ok) throw new Error("The address belongs to another account.")
    return asAdapterUser(created.user)
  },
  async getUser(id) {
    return orNull(await db().user.findUnique({ where: { id } }))
  },
  async getUserByEmail(email) {
    return orNull(await db().user.findUnique({ where: { email: normalizeEmail(email) } }))
  },
  async getUserByAccount(account) {
    return orNull((await findProviderAccount(account))?.user ?? null)
  },
  async updateUser({ id }) {
    return asAdapterUser(await db().user.findUniqueOrThrow({ where: { id } }))
  },
  async linkAccount({ userId, type, provider, providerAccountId }: AdapterAccount) {
    await db().providerAccount.create({ data: { userId, type, provider, providerAccountId } })
  },
}

function findProviderAccount({ provider, providerAccountId }: Pick<AdapterAccount, "provider" | "providerAccountId">) {
  const where = { provider_providerAccountId: { provider, providerAccountId } }
  return db().providerAccount.findUnique({ where, include: { user: true } })
}

function orNull(user: User | null): AdapterUser | null {
  return user && asAdapterUser(user)
}

function asAdapterUser({ id, email, name, emailVerified, image }: User): AdapterUser {
  return { id, email, name, emailVerified, image }
}
