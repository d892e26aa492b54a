import { z } from "zod"
import type { User } from "@/generated/prisma/client"
import { createAccount } from "@/lib/accounts/create"
import { emailAddress } from "@/lib/email/address"
import { plainText } from "@/lib/input/text"
import { consume } from "@/lib/rate-limit/rate-limit"
import { guessable, isGuessable, newPassword } from "./new-password"
import { hashPassword } from "./password-hash"

export const signUpForm = z
  .strictObject({ name: plainText({ name: "Name", max: 100 }), email: emailAddress, password: newPassword })
  .refine(({ password, ...account }) => !isGuessable(password, account), { path: ["password"], message: guessable })

export type SignUpResult =
  | { ok: true; user: User }
  | { ok: false; reason: "taken" }
  | { ok: false; reason: "too_many"; retryAfterSeconds: number }

export async function signUp(form: z.output<typeof signUpForm>, address: string): Promise<SignUpResult> {
  const verdict = await consume("signUpAddress", address)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  const passwordHash = await hashPassword(form.password)
  return createAccount({ email: form.email, name: form.name, passwordHash })
}
