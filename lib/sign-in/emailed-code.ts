import { createHmac, randomInt } from "node:crypto"
import type { User } from "@/generated/prisma/client"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { type TooMany, tooMany } from "./attempts"
import { signingSecret } from "./auth-secrets"
import { proofMinutes } from "./proof-minutes"
import { typedCode } from "./typed-code"

/** At a code that is one of 100 million. */
const tries = 5

type CodeSent = { ok: true } | { ok: false; reason: "no_email" | "not_sent" } | TooMany

export async function sendCode({ id, email }: Pick<User, "id" | "email">, sessionId: string): Promise<CodeSent> {
  if (!deliversEmails()) return { ok: false, reason: "no_email" }
  const bySession = await consume("proofCodesSession", sessionId)
  // A session without codes left does not use up the codes of the others.
  if (!bySession.allowed) return tooMany(bySession)
  const byAccount = await consume("proofCodesAccount", id)
  if (!byAccount.allowed) return tooMany(byAccount)
  const code = String(randomInt(1e8)).padStart(8, "0")
  // Stored once it is sent: a form that finds a stored one does not send another.
  if (!(await sendEmail({ id, email }, "proof_code", { code, minutes: proofMinutes })))
    return { ok: false, reason: "not_sent" }
  await db().$executeRaw`
    UPDATE sessions
    SET proof_code = ${hashOf(code, sessionId)}, proof_code_until = now() + make_interval(mins => ${proofMinutes}),
      proof_code_tries = ${tries}
    WHERE id = ${sessionId}::uuid`
  return { ok: true }
}

export async function hasCode(sessionId: string): Promise<boolean> {
  const found = await db().$queryRaw<unknown[]>`
    SELECT FROM sessions WHERE id = ${sessionId}::uuid AND proof_code_until > now() AND proof_code_tries > 0`
  return found.length === 1
}

/**
 * One statement, so that of many attempts at once only `tries` are compared, and of two right ones only the first counts.
 * Undefined if no code works.
 */
export async function takeCode(typed: string, sessionId: string): Promise<"right" | "wrong" | undefined> {
  const [attempt] = await db().$queryRaw<{ isRight: boolean }[]>`
    UPDATE sessions
    SET proof_code_tries = proof_code_tries - 1, proof_code = CASE WHEN is_right THEN NULL ELSE proof_code END,
      proof_code_until = CASE WHEN is_right THEN NULL ELSE proof_code_until END
    FROM (
      SELECT id, proof_code = ${hashOf(typedCode(typed), sessionId)} AS is_right
      FROM sessions WHERE id = ${sessionId}::uuid AND proof_code_until > now() AND proof_code_tries > 0
      FOR UPDATE) AS before
    WHERE sessions.id = before.id
    RETURNING is_right AS "isRight"`
  return attempt && (attempt.isRight ? "right" : "wrong")
}

/** A code has few digits: without the secret, or in another session, its hash is worth nothing. */
function hashOf(code: string, sessionId: string): Buffer {
  return createHmac("sha256", signingSecret()).update(`proof ${sessionId} ${code}`).digest()
}
