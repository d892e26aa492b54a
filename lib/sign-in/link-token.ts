import { createHash, randomBytes } from "node:crypto"

export function newToken(): string {
  return randomBytes(32).toString("base64url")
}

/** A token has 256 random bits, so a fast hash is enough to make a leaked table useless. */
export function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}
