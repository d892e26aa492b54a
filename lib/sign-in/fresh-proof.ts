import type { PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/server"
import type { User } from "@/generated/prisma/client"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { inMinutes } from "@/lib/platform/text/format-time"
import { product } from "@/lib/product"
import { type Client, countAttempt } from "./attempts"
import { hasCode, sendCode, takeCode } from "./emailed-code"
import { confirmPassword } from "./passwords/confirm-password"
import type { Viewer } from "./session-rows"
import { auditFailedProof } from "./sign-in-audit"
import { confirmCode, wrongCode } from "./two-factor/codes"
import { factorsOf } from "./two-factor/factors"
import { confirmPasskey, copiedPasskey, passkeyHost, passkeyOptions } from "./two-factor/passkeys"

type ProofMethod = "password" | "emailed code" | "second factor"

export type ProofRequest = {
  method: ProofMethod
  email: string
  error?: string | undefined
  factors?: OfferedFactors
}

type OfferedFactors = {
  app: boolean
  recoveryCodes: boolean
  passkey: { options: PublicKeyCredentialRequestOptionsJSON; host: string } | null
}

export type TypedProof = {
  proof: string | undefined
  another: boolean
  passkey: string
}

/** Sends an email; the caller runs it after the response. */
type Message = () => Promise<void>

type Checked = { ok: true; message?: Message } | { ok: false; error?: string; isWrong?: true; message?: Message }

/** The session may be stolen: the second factor proves the person, else the password, else an emailed code. */
export async function checkProof(
  viewer: Viewer,
  typed: TypedProof,
  client: Client,
): Promise<{ ok: true; message?: Message } | { ok: false; request: ProofRequest; message?: Message }> {
  const account = await db().user.findUniqueOrThrow({ where: { id: viewer.id } })
  const method = methodOf(account)
  const checked = await checks[method](account, viewer, typed, client)
  const details = { method, address: client.address }
  if (checked.ok) {
    log().info({ user: viewer.id, ...details }, "proof_given")
    return checked
  }
  if (checked.isWrong) await auditFailedProof(viewer.id, details)
  const factors = method === "second factor" ? { factors: await offered(viewer) } : {}
  const { error, message } = checked
  return { ok: false, request: { method, email: account.email, error, ...factors }, ...(message && { message }) }
}

function methodOf({ twoFactor, passwordHash }: User): ProofMethod {
  if (twoFactor) return "second factor"
  return passwordHash === null ? "emailed code" : "password"
}

type Check = (account: User, viewer: Viewer, typed: TypedProof, client: Client) => Promise<Checked>

const checks: Record<ProofMethod, Check> = {
  password: async (_account, { id }, { proof }, client) => {
    if (proof === undefined) return { ok: false }
    if (proof === "") return { ok: false, error: "Enter your password." }
    const result = await confirmPassword(id, proof, client)
    if (result.ok) return { ok: true }
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    return { ok: false, error: "This is not your password.", isWrong: true }
  },
  "emailed code": async (account, { sessionId }, { proof, another }, client) => {
    if (proof) {
      const refused = await countAttempt(account.email, client)
      if (refused) return retryLater("Too many attempts", refused)
      const result = await takeCode(proof, sessionId)
      if (result === "right") return { ok: true }
      if (result === "wrong") return { ok: false, error: "This is not the code in the last email.", isWrong: true }
      return { ok: false, error: "This code no longer works. Send another one." }
    }
    if (!another && (await hasCode(sessionId))) return { ok: false, ...(proof === "" && { error: "Enter the code." }) }
    const sent = await sendCode(account, sessionId)
    if (sent.ok) return { ok: false }
    switch (sent.reason) {
      case "not_sent":
        return { ok: false, error: "The email with the code was not sent. Try again in a moment." }
      case "no_email":
        return { ok: false, error: `This service does not send email. Contact ${product.supportEmail}.` }
      case "too_many":
        return retryLater("You requested too many codes", sent)
    }
  },
  "second factor": async ({ id, email }, viewer, { proof, passkey }, client) => {
    if (!passkey && proof === undefined) return { ok: false }
    if (!passkey && proof === "") return { ok: false, error: "Enter a code or use a passkey." }
    const refused = await countAttempt(email, client)
    if (refused) return retryLater("Too many attempts", refused)
    if (passkey) {
      const result = await confirmPasskey(passkey, purposeOf(viewer))
      if (result.ok) return { ok: true }
      if (result.reason === "expired") return { ok: false, error: "This took too long. Use the passkey again." }
      if (result.reason === "copied") return { ok: false, error: copiedPasskey, isWrong: true }
      return { ok: false, error: "This passkey does not belong to your account.", isWrong: true }
    }
    const result = await confirmCode(id, proof ?? "", client)
    if (result.ok) return result
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    if (result.reason === "locked") {
      return retryLater("Too many wrong codes of your app. Recovery codes and passkeys still work", result)
    }
    const { message } = result
    return { ok: false, error: wrongCode, isWrong: true, ...(message && { message }) }
  },
}

function retryLater(why: string, { retryAfterSeconds }: { retryAfterSeconds: number }): Checked {
  return { ok: false, error: `${why}. Try again ${inMinutes(retryAfterSeconds)}.` }
}

async function offered(viewer: Viewer): Promise<OfferedFactors> {
  const { app, passkeys, recoveryCodesLeft } = await factorsOf(viewer.id)
  const hasPasskey = passkeys.length > 0
  const passkey = hasPasskey ? { options: await passkeyOptions(purposeOf(viewer)), host: passkeyHost() } : null
  return { app: app !== null, recoveryCodes: recoveryCodesLeft > 0, passkey }
}

/** A passkey proves who is at this session, and at no other. */
function purposeOf({ id: userId, sessionId }: Viewer) {
  return { purpose: "proof", id: sessionId, userId } as const
}
