import { decode } from "next-auth/jwt"
import { env, secretsIn } from "@/lib/env"

/** All of them verify, so that a signature of an earlier one stays valid after a change. */
export function authSecrets(): string[] {
  return secretsIn(env().AUTH_SECRET)
}

export function signingSecret(): string {
  const [first = ""] = authSecrets()
  return first
}

export async function decodeToken(token: string): Promise<unknown> {
  for (const secret of authSecrets()) {
    const payload = await decode({ token, secret }).catch(() => null)
    if (payload) return payload
  }
  return null
}
