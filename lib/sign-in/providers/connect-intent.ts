import { createHash, randomBytes } from "node:crypto"
import { cookies } from "next/headers"
import { cookieName, cookieOptions } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import { proofMinutes } from "../proof-minutes"
import type { Viewer } from "../session-rows"
import { providerSignInUrl } from "./provider-url"
import type { ProviderId } from "./providers"

/** The session keeps the hash of provider and nonce: nothing else in the browser or at the provider can connect. */
export async function connectUrl({ sessionId }: Viewer, provider: ProviderId): Promise<string> {
  const url = await providerSignInUrl(provider, "/account/security")
  const nonce = randomBytes(32).toString("base64url")
  await db().$executeRaw`
    UPDATE sessions
    SET connecting = ${hashOf(provider, nonce)}, connecting_until = now() + make_interval(mins => ${proofMinutes})
    WHERE id = ${sessionId}::uuid`
  const jar = await cookies()
  jar.set(cookieName("connect"), nonce, { ...cookieOptions(), maxAge: proofMinutes * 60 })
  return url
}

export async function consumeConnectIntent({ sessionId }: Viewer, provider: ProviderId, nonce: string) {
  const [session] = await db().$queryRaw<{ mayConnect: boolean | null }[]>`
    UPDATE sessions SET connecting = NULL, connecting_until = NULL
    FROM (
      SELECT id, connecting = ${hashOf(provider, nonce)} AND connecting_until > now() AS may_connect
      FROM sessions WHERE id = ${sessionId}::uuid FOR UPDATE) AS before
    WHERE sessions.id = before.id
    RETURNING may_connect AS "mayConnect"`
  return session?.mayConnect === true
}

function hashOf(provider: ProviderId, nonce: string): Buffer {
  return createHash("sha256").update(`${provider} ${nonce}`).digest()
}
