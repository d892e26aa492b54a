import { randomUUID } from "node:crypto"
import type { AdapterAccount, AdapterUser } from "next-auth/adapters"
import { encode } from "next-auth/jwt"
import type { GoogleProfile } from "next-auth/providers/google"
import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { newSecret } from "@/lib/keys/secret"
import { cookieName, cookieOptions } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import { product } from "@/lib/product"
import { createUser } from "@/tests/support/factories"
import { accountsAdapter, authOptions } from "./next-auth"
import { googleProfile } from "./providers/provider-profiles"
import { socialProviders } from "./providers/providers"

const adapter = accountsAdapter as Required<typeof accountsAdapter>
const httpAddress = env().BASE_URL

afterEach(() => {
  env().BASE_URL = httpAddress
  delete env().GITHUB_CLIENT_ID
  delete env().GOOGLE_CLIENT_ID
})

test("the first sign-in through a provider creates an account and later ones find it; provider tokens are not stored", async () => {
  const profile = { email: `Ann-${randomUUID()}@BÜCHER.example`, name: "Ann", emailVerified: null }
  const created = await adapter.createUser(profile as Omit<AdapterUser, "id">)
  expect(created.email).toMatch(/^ann-.*@xn--bcher-kva\.example$/)
  const link = { type: "oauth", provider: "github", providerAccountId: randomUUID() } as const
  await adapter.linkAccount({ ...link, userId: created.id, access_token: "token", scope: "email" } as AdapterAccount)
  expect(await adapter.getUserByAccount(link)).toMatchObject({ id: created.id, name: "Ann" })
  expect(await adapter.getUserByEmail(profile.email)).toMatchObject({ id: created.id })
  expect(await adapter.getUserByAccount({ ...link, provider: "google" })).toBeNull()
  const account = await db().providerAccount.findFirstOrThrow({ where: { userId: created.id } })
  expect(JSON.stringify(account)).not.toContain("token")
  expect(await db().user.findUniqueOrThrow({ where: { id: created.id } })).toMatchObject({
    role: "member",
    passwordHash: null,
    emailVerified: expect.any(Date),
  })
})

test.each([undefined, "", "Ann\u001bgnp.exe", "Two\nlines", "x".repeat(101), `Key ${newSecret("user")}`])(
  "an account whose name at the provider is %j, which the sign-up form would refuse, is named after its address",
  async (name) => {
    const email = `nameless-${randomUUID()}@example.com`
    const created = await adapter.createUser({ email, name, emailVerified: null } as Omit<AdapterUser, "id">)
    expect(created.name).toBe(email.slice(0, email.indexOf("@")))
  },
)

const signIn = authOptions().callbacks?.signIn as (input: object) => Promise<boolean | string>

test("sign-in through a connected provider to an account that is active is allowed", async () => {
  const { id: userId } = await createUser()
  const account = { type: "oauth", provider: "github", providerAccountId: randomUUID() }
  await db().providerAccount.create({ data: { ...account, userId } })
  expect(await signIn({ user: { id: account.providerAccountId, email: null }, account })).toBe(true)
})

test.each([null, undefined, "", "nobody", `${"x".repeat(250)}@example.com`])(
  "a new account is refused for the address %j",
  async (email) => {
    const account = { type: "oauth", provider: "github", providerAccountId: randomUUID() }
    expect(await signIn({ user: { id: "1", email }, account })).toBe("/sign-in?error=UnverifiedAddress")
  },
)

test.each([
  [true, "ann@example.com"],
  [false, null],
  ["true", null],
  [undefined, null],
])("an address of which Google says that it is verified: %j is taken as %j", (email_verified, email) => {
  const claims = { sub: "1", name: "Ann", email: "ann@example.com", email_verified } as GoogleProfile
  expect(googleProfile(claims)).toMatchObject({ id: "1", email })
})

test("a provider is available when its variables are set", () => {
  expect(socialProviders()).toEqual([])
  env().GITHUB_CLIENT_ID = "id"
  expect(socialProviders()).toEqual([{ id: "github", name: "GitHub" }])
  env().GOOGLE_CLIENT_ID = "id"
  expect(socialProviders().map(({ id }) => id)).toEqual(["github", "google"])
})

test("cookies are HttpOnly and SameSite=Lax, and with https also Secure and bound to the host", () => {
  expect([cookieName("session"), cookieOptions()]).toEqual([
    `${product.slug}.session`,
    { httpOnly: true, sameSite: "lax", path: "/", secure: false },
  ])
  env().BASE_URL = "https://app.example.com"
  expect([cookieName("session"), cookieOptions()]).toEqual([
    `__Host-${product.slug}.session`,
    { httpOnly: true, sameSite: "lax", path: "/", secure: true },
  ])
})

test("next-auth reads nothing from the session cookie", async () => {
  const token = await encode({ token: { sub: randomUUID(), sid: randomUUID() }, secret: env().AUTH_SECRET })
  expect(await authOptions().jwt?.decode?.({ token, secret: env().AUTH_SECRET })).toBeNull()
})
