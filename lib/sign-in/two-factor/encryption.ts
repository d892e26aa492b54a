import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { authSecrets, signingSecret } from "../auth-secrets"

// An encrypted text is the id of its key, the initialization vector, the tag, and the text.
const [idBytes, ivBytes, tagBytes] = [4, 12, 16]

/** With the first secret of AUTH_SECRET, for this account only. */
export function encrypt(text: string, userId: string): Uint8Array<ArrayBuffer> {
  const { id, key } = keyOf(signingSecret())
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(userId))
  const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
  return new Uint8Array(Buffer.concat([id, iv, cipher.getAuthTag(), encrypted]))
}

export function decrypt(encrypted: Uint8Array, userId: string): string | undefined {
  const [iv, tag, text] = [idBytes, idBytes + ivBytes, idBytes + ivBytes + tagBytes]
  for (const { id, key } of authSecrets().map(keyOf)) {
    if (id.compare(encrypted, 0, iv) !== 0) continue
    const decipher = createDecipheriv("aes-256-gcm", key, encrypted.subarray(iv, tag))
    decipher.setAAD(Buffer.from(userId)).setAuthTag(encrypted.subarray(tag, text))
    try {
      return Buffer.concat([decipher.update(encrypted.subarray(text)), decipher.final()]).toString("utf8")
    } catch {
      // Another secret with the same id encrypted it, or it is of another account.
    }
  }
  return undefined
}

/** Texts that the first secret encrypts start with it. */
export function currentKeyId(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyOf(signingSecret()).id)
}

function keyOf(secret: string): { id: Buffer; key: Buffer } {
  const derived = Buffer.from(hkdfSync("sha256", secret, "", "secrets of authenticator apps", 32 + idBytes))
  return { key: derived.subarray(0, 32), id: derived.subarray(32) }
}
