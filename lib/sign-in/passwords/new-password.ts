import { dictionary } from "@zxcvbn-ts/language-common"
import { z } from "zod"
import { secret } from "@/lib/platform/schemas/form-fields"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"
import { passwordMinLength } from "./password-hash"

/** NIST SP 800-63B section 3.1.1.2; no other rules but `isGuessable`, which needs the account. */
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

export function isGuessable(password: string, { name, email }: { name: string; email: string }): boolean {
  const text = password.toLowerCase()
  const [first = ""] = text
  const parts = [first, name, email, email.slice(0, email.lastIndexOf("@")), product.name, product.slug]
  return parts.some((part) => part !== "" && text.replaceAll(part.toLowerCase(), "").trim() === "")
}

export const guessable =
  "Choose a password that is not your name, your address, the name of this product or one repeated character."

function commonPasswords(): Set<string> {
  return singleton("common-passwords", () => new Set(dictionary["passwords-common"].map(String)))
}
