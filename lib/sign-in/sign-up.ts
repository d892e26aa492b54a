import { dictionary } from "@zxcvbn-ts/language-common"
import { z } from "zod"
import type { User } from "@/generated/prisma/client"
import { createAccount } from "@/lib/accounts/create"
import { emailAddress } from "@/lib/email/address"
import { secret } from "@/lib/input/fields"
import { plainText } from "@/lib/input/text"
import { consume } from "@/lib/rate-limit/rate-limit"
import { singleton } from "@/lib/singleton"
import { hashPassword, passwordMinLength } from "./password-hash"

/** At least 12 characters and not on a list of common passwords (NIST SP 800-63B section 3.1.1.2); no other rules. */
export const newPassword = secret(
  z
    .string()
    .min(passwordMinLength, `A password must have at least ${passwordMinLength} characters.`)
    .max(1024, "A password can have at most 1,024 characters.")
    .refine(
      (password) => !commonPasswords().has(password.toLowerCase()),
      "This password is on a list of common passwords.",
    ),
)

export const signUpForm = z.strictObject({
  name: plainText({ name: "Name", max: 100 }),
  email: emailAddress,
  password: newPassword,
})

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

function commonPasswords(): Set<string> {
  return singleton("common-passwords", () => new Set(dictionary["passwords-common"].map(String)))
}
