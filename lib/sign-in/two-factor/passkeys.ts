import {
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type VerifiedRegistrationResponse,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server"
import { decodeAttestationObject, isoBase64URL } from "@simplewebauthn/server/helpers"
import { z } from "zod"
import type { Passkey } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { env } from "@/lib/env"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { plainText } from "@/lib/platform/schemas/text"
import { product } from "@/lib/product"
import type { Viewer } from "../session-rows"
import { challengeMinutes, consumeChallenge, newChallenge, type Purpose } from "./challenges"
import { type Added, addFactor } from "./factors"

export const maxPasskeys = 20

export const passkeyForm = z.strictObject({
  name: plainText({ name: "Name", max: 60 }),
  response: hidden(z.string()),
})

/** EdDSA, ES256 and RS256: Node verifies them in every version that the product runs on. */
const algorithms = [-8, -7, -257]

const timeout = challengeMinutes * 60_000

/** Browsers offer passkeys on no other host. */
export function passkeyHost(): string {
  return new URL(env().BASE_URL).hostname
}

export async function registrationOptions(viewer: Viewer): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: product.name,
    rpID: passkeyHost(),
    userID: handleOf(viewer.id),
    userName: viewer.email,
    userDisplayName: viewer.name,
    challenge: await newChallenge(registrationBy(viewer)),
    timeout,
    // No statement about the authenticator is asked for: the library would fetch the URLs that its certificates name.
    attestationType: "none",
    excludeCredentials: await credentialsOf(viewer.id),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    supportedAlgorithmIDs: algorithms,
  })
}

export async function addPasskey(
  viewer: Viewer,
  { name, response }: z.output<typeof passkeyForm>,
): Promise<Added | { ok: false; reason: "invalid" }> {
  const created = registrationResponse.safeParse(parsedJson(response)).data
  const challenge = created && challengeIn(created.response.clientDataJSON)
  if (!created || !challenge) return { ok: false, reason: "invalid" }
  if (!(await consumeChallenge(challenge, registrationBy(viewer)))) return { ok: false, reason: "expired" }
  const credential = (await verifiedRegistration(created, challenge))?.credential
  if (!credential) return { ok: false, reason: "invalid" }
  return addFactor(viewer, "passkey", async (transaction) => {
    const { id: userId } = viewer
    if ((await transaction.passkey.count({ where: { userId } })) >= maxPasskeys) return "limit_reached"
    const { id: credentialId, publicKey, counter } = credential
    const { count } = await transaction.passkey.createMany({
      data: { userId, name, credentialId, publicKey, counter, transports: created.response.transports },
      skipDuplicates: true,
    })
    return count === 1 ? "added" : "in_use"
  })
}

function registrationBy({ id, sessionId }: Viewer): Purpose {
  return { purpose: "register", id: sessionId, userId: id }
}

type RegistrationInfo = NonNullable<VerifiedRegistrationResponse["registrationInfo"]>

async function verifiedRegistration(
  response: z.output<typeof registrationResponse>,
  expectedChallenge: string,
): Promise<RegistrationInfo | undefined> {
  try {
    if (namesCertificates(response.response.attestationObject)) return undefined
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { ...response, clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: env().BASE_URL,
      expectedRPID: passkeyHost(),
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    // The library does not compare them: only the one in the response has a maximum.
    return registrationInfo?.credential.id === response.id ? registrationInfo : undefined
  } catch {
    // The library throws for every problem of a response.
    return undefined
  }
}

/** The library would fetch the revocation lists of certificates. */
function namesCertificates(attestationObject: string): boolean {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject))
  const format = attestation.get("fmt")
  return !(format === "none" || (format === "packed" && attestation.get("attStmt").get("x5c") === undefined))
}

export async function passkeyOptions(use: Purpose): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return generateAuthenticationOptions({
    rpID: passkeyHost(),
    challenge: await newChallenge(use),
    timeout,
    userVerification: "required",
    allowCredentials: "userId" in use ? await credentialsOf(use.userId) : [],
  })
}

/** `id`: of the passkey. `copied`: the counter of the right passkey went back. */
type PasskeyResult = { ok: true; userId: string; id: string } | { ok: false; reason: "wrong" | "expired" | "copied" }

export const copiedPasskey =
  "This passkey was refused, because its counter went back: it may have been copied, or its device restored. Use another passkey, your app or a recovery code, then remove this passkey under Security and add a new one."

export async function confirmPasskey(response: string, use: Purpose): Promise<PasskeyResult> {
  const signed = authenticationResponse.safeParse(parsedJson(response)).data
  const challenge = signed && challengeIn(signed.response.clientDataJSON)
  if (!signed || !challenge) return { ok: false, reason: "wrong" }
  if (!(await consumeChallenge(challenge, use))) return { ok: false, reason: "expired" }
  const passkey = await db().passkey.findUnique({ where: { credentialId: signed.id } })
  if (!passkey || ("userId" in use && use.userId !== passkey.userId)) return { ok: false, reason: "wrong" }
  const counter = await verifiedCounter(signed, challenge, passkey)
  if (counter === undefined) return { ok: false, reason: "wrong" }
  const { id, userId } = passkey
  return (await countUse(passkey, counter)) ? { ok: true, userId, id } : { ok: false, reason: "copied" }
}

/** Waits for a removal that is being made. */
export async function hasPasskey(userId: string, id: string): Promise<boolean> {
  const found = await db().$queryRaw<unknown[]>`
    SELECT id FROM passkeys WHERE id = ${id}::uuid AND user_id = ${userId}::uuid FOR KEY SHARE`
  return found.length === 1
}

async function verifiedCounter(
  response: z.output<typeof authenticationResponse>,
  expectedChallenge: string,
  { userId, credentialId, publicKey }: Passkey,
): Promise<number | undefined> {
  const { userHandle, ...signed } = response.response
  const handle = Buffer.from(handleOf(userId)).toString("base64url")
  if (userHandle !== undefined && userHandle !== handle) return undefined
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...response, response: signed, clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: env().BASE_URL,
      expectedRPID: passkeyHost(),
      // The counter is compared after the signature, and where it is stored.
      credential: { id: credentialId, publicKey: new Uint8Array(publicKey), counter: 0 },
      requireUserVerification: true,
    })
    return verified ? authenticationInfo.newCounter : undefined
  } catch {
    return undefined
  }
}

/**
 * An authenticator that counts never sends a number twice: a copy of it does, and is refused. Zero means that it does not
 * count, as most password managers. The counter is a sign, not a proof, so the owner is told of both:
 * https://www.w3.org/TR/webauthn-3/#sctn-sign-counter
 */
async function countUse({ id, userId }: Passkey, counter: number): Promise<boolean> {
  const [used] = await db().$queryRaw<{ stopped: boolean }[]>`
    UPDATE passkeys SET counter = ${counter}, last_used_at = now()
    FROM (SELECT id AS locked, counter AS before FROM passkeys WHERE id = ${id}::uuid FOR UPDATE) found
    WHERE id = locked AND (before < ${counter} OR ${counter}::bigint = 0)
    RETURNING before > 0 AND ${counter}::bigint = 0 AS stopped`
  if (used && !used.stopped) return true
  const [actorId, action] = used
    ? ([userId, "user.passkey_uncounted"] as const)
    : ([null, "user.passkey_refused"] as const)
  await audit(db(), { actorId, action, targetType: "user", targetId: userId, details: { passkey: id } })
  if (used || (await consume("refusedPasskeyEmailsAccount", userId)).allowed) {
    const account = await db().user.findUniqueOrThrow({ where: { id: userId } })
    await sendEmail(account, used ? "passkey_uncounted" : "passkey_refused")
  }
  return used !== undefined
}

function handleOf(userId: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(userId.replaceAll("-", ""), "hex"))
}

async function credentialsOf(userId: string) {
  const passkeys = await db().passkey.findMany({ where: { userId }, select: { credentialId: true, transports: true } })
  return passkeys.map(({ credentialId, transports }) => ({
    id: credentialId,
    transports: transports as AuthenticatorTransport[],
  }))
}

const encoded = z.string().regex(/^[\w-]+$/)

/** At most 1,023 bytes in WebAuthn. */
const credentialId = encoded.max(1364)

const registrationResponse = z.object({
  id: credentialId,
  rawId: credentialId,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: encoded,
    attestationObject: encoded,
    transports: z
      .array(z.string().regex(/^[a-z-]{1,20}$/))
      .max(10)
      .default([]),
  }),
})

const authenticationResponse = z.object({
  id: credentialId,
  rawId: credentialId,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: encoded,
    authenticatorData: encoded,
    signature: encoded,
    userHandle: encoded.optional(),
  }),
})

function challengeIn(clientDataJSON: string): string | undefined {
  const data = parsedJson(Buffer.from(clientDataJSON, "base64url").toString("utf8"))
  return z.object({ challenge: encoded }).safeParse(data).data?.challenge
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
