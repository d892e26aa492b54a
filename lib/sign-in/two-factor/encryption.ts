import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { authSecrets, signingSecret } from "../auth-secrets"

const [ivBytes, tagBytes] = [12, 16]

/** Encrypts the secret of an authenticator app with the first of the secrets of AUTH_SECRET, for this account only. */
export function encrypt(text: string, userId: string): Uint8Array<ArrayBuffer> {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv("aes-256-gcm", keyOf(signingSecret()), iv).setAAD(Buffer.from(userId))
  const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
  return new Uint8Array(Buffer.concat([iv, cipher.getAuthTag(), encrypted]))
}

/** What one of the secrets encrypted for this account; `isCurrent` if it was the first. */
export function decrypt(encrypted: Uint8Array, userId: string): { text: string; isCurrent: boolean } | undefined {
  for (const [index, secret] of authSecrets().entries()) {
    const decipher = createDecipheriv("aes-256-gcm", keyOf(secret), encrypted.subarray(0, ivBytes))
    decipher.setAAD(Buffer.from(userId)).setAuthTag(encrypted.subarray(ivBytes, ivBytes + tagBytes))
    try {
      const text = Buffer.concat([decipher.update(encrypted.subarray(ivBytes + tagBytes)), decipher.final()])
      return { text: text.toString("utf8"), isCurrent: index === 0 }
    } catch {
      // Another secret encrypted it.
    }
  }
  return undefined
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "secrets of authenticator apps", 32))
}
