import { decode } from "next-auth/jwt"
import { env, secretsIn } from "@/lib/env"

/** The secrets of AUTH_SECRET. All of them verify, so that what an earlier one signed stays valid after a change. */
export function authSecrets(): string[] {
  return secretsIn(env().AUTH_SECRET)
}

/** The secret that signs: the first one. */
export function signingSecret(): string {
  const [first = ""] = authSecrets()
  return first
}

/** The content of a token that one of the secrets encrypted, if it has not expired. */
export async function decodeToken(token: string): Promise<unknown> {
  for (const secret of authSecrets()) {
    const payload = await decode({ token, secret }).catch(() => null)
    if (payload) return payload
  }
  return null
}
