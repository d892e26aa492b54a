import { randomBytes } from "node:crypto"
import { db } from "@/lib/platform/postgres/prisma"
import { hashOf } from "../link-token"

export const challengeMinutes = 5

/** `id` is the session's, or the hash of the pending sign-in's token. */
export type Purpose = { purpose: "sign-in" } | { purpose: "register" | "confirm" | "proof"; id: string; userId: string }

export async function newChallenge(use: Purpose): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = new Uint8Array(randomBytes(32))
  await db().$executeRaw`
    WITH expired AS (
      DELETE FROM passkey_challenges WHERE hash IN (
        SELECT hash FROM passkey_challenges WHERE expires_at < now() LIMIT 1000 FOR UPDATE SKIP LOCKED))
    INSERT INTO passkey_challenges (hash, purpose, bound_to, expires_at)
    VALUES (${hashOf(encoded(challenge))}, ${use.purpose}, ${boundTo(use)}, now() + make_interval(mins => ${challengeMinutes}))`
  return challenge
}

export async function consumeChallenge(challenge: string, use: Purpose): Promise<boolean> {
  const used = await db().$executeRaw`
    DELETE FROM passkey_challenges
    WHERE hash = ${hashOf(challenge)} AND purpose = ${use.purpose} AND bound_to IS NOT DISTINCT FROM ${boundTo(use)}
      AND expires_at > now()`
  return used === 1
}

function boundTo(use: Purpose): string | null {
  return "id" in use ? use.id : null
}

function encoded(challenge: Uint8Array): string {
  return Buffer.from(challenge).toString("base64url")
}
