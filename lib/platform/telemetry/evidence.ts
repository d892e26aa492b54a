import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import { env, secretsIn } from "@/lib/env"
import { singleton } from "@/lib/singleton"

// Other systems collect and keep logs, and can add lines. `after-restore` and `audit:verify` believe only signed lines.

export type Evidence = {
  request: { keyId: string; run: { id: string; accountId: string; credits: number } }
  audited: {
    entryId: string
    action: string
    actorId: string | null
    targetType: string
    targetId: string
    role?: string | undefined
  }
  audit_sealed: { day: string; entries: number; hash: string }
  database_restored: { moment: string }
}

export type EvidenceEvent = keyof Evidence

/** The signature covers `at`, unlike `time`. */
type Proof = { at: string; signature: string }

/** A change of the order makes earlier lines unverified. */
const covered: { [Event in EvidenceEvent]: (fields: Evidence[Event]) => unknown[] } = {
  request: ({ keyId, run: { id, accountId, credits } }) => [keyId, id, accountId, credits],
  audited: ({ entryId, action, actorId, targetType, targetId, role }) => [
    ...[entryId, action, actorId],
    ...[targetType, targetId, role],
  ],
  audit_sealed: ({ day, entries, hash }) => [day, entries, hash],
  database_restored: ({ moment }) => [moment],
}

export function signed<Event extends EvidenceEvent>(event: Event, fields: Evidence[Event]): Evidence[Event] & Proof {
  const at = new Date().toISOString()
  const [secret = ""] = secretsIn(env().AUTH_SECRET)
  return { ...fields, at, signature: signatureOf(event, fields, at, secret) }
}

export function verifyEvidence<Event extends EvidenceEvent>(
  line: { event: Event } & Evidence[Event] & Proof,
  secrets: readonly string[],
): boolean {
  const given = Buffer.from(line.signature)
  return secrets.some((secret) => {
    const signature = Buffer.from(signatureOf(line.event, line, line.at, secret))
    return given.length === signature.length && timingSafeEqual(given, signature)
  })
}

/** Earlier secrets have signed lines, too. */
export function logSecrets(): string[] {
  const { AUTH_SECRET, LOG_SECRETS } = env()
  return [AUTH_SECRET, LOG_SECRETS].flatMap((secrets) => (secrets ? secretsIn(secrets) : []))
}

function signatureOf<Event extends EvidenceEvent>(
  event: Event,
  fields: Evidence[Event],
  at: string,
  secret: string,
): string {
  const { id, key } = keyOf(secret)
  const message = JSON.stringify([event, at, ...covered[event](fields)])
  return `${id}.${createHmac("sha256", key).update(message).digest("base64url")}`
}

type Key = { id: string; key: Buffer }

function keyOf(secret: string): Key {
  const known = singleton("evidence-keys", () => new Map<string, Key>())
  const found = known.get(secret)
  if (found) return found
  const key = Buffer.from(hkdfSync("sha256", secret, "", "log evidence", 32))
  const made = { id: createHash("sha256").update(key).digest("hex").slice(0, 8), key }
  known.set(secret, made)
  return made
}
