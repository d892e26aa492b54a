import { decode } from "next-auth/jwt"
import { env, secretsIn } from "@/lib/env"

/** The secrets of AUTH_SECRET. All of them verify, so that what an earlier one signed stays valid after a change. */
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
