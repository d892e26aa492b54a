import { randomUUID } from "node:crypto"
import type { AdapterAccount, AdapterUser } from "next-auth/adapters"
import { encode } from "next-auth/jwt"
import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { newSecret } from "@/lib/keys/secret"
import { db } from "@/lib/postgres/prisma"
import { product } from "@/lib/product"
import { createUser } from "@/tests/support/factories"
import { cookieName, cookieOptions } from "./cookies"
import { accountsAdapter, authOptions } from "./next-auth"
import { socialProviders } from "./providers"

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
  })
})

test.each([undefined, "", "Ann\u202egnp.exe", "Two\nlines", "x".repeat(101), `Key ${newSecret("user")}`])(
  "an account whose name at the provider is %j, which the sign-up form would refuse, is named after its address",
  async (name) => {
    const email = `nameless-${randomUUID()}@example.com`
    const created = await adapter.createUser({ email, name, emailVerified: null } as Omit<AdapterUser, "id">)
    expect(created.name).toBe(email.slice(0, email.indexOf("@")))
  },
)

test("sign-in through a provider to an account that is active is allowed", async () => {
  const { id, email, name } = await createUser()
  const signIn = authOptions().callbacks?.signIn as (input: object) => Promise<boolean>
  expect(await signIn({ user: { id, email: email.toUpperCase(), name } })).toBe(true)
})

test("a provider profile without an email address is refused", async () => {
  const signIn = authOptions().callbacks?.signIn as (input: object) => Promise<boolean>
  expect(await signIn({ user: { id: "1", email: null } })).toBe(false)
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
