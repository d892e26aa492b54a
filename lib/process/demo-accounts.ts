import { createHash } from "node:crypto"
import { secretOf } from "@/lib/keys/secret"
import type { Role } from "@/lib/permissions"
import { product } from "@/lib/product"
import { kinds, type Surface } from "@/lib/surfaces"

/** Public, as the demo's keys are: never seed them into a production database. */
export const demoPassword = "demo-password-2026"

export const demoAccounts: readonly { role: Role; name: string; email: string; surface: Surface }[] = [
  { role: "member", name: "Mia Member", email: "member@example.com", surface: "user" },
  { role: "admin", name: "Adam Admin", email: "admin@example.com", surface: "admin" },
  { role: "finance", name: "Fay Finance", email: "finance@example.com", surface: "admin" },
  { role: "bookkeeper", name: "Ben Bookkeeper", email: "bookkeeper@example.com", surface: "admin" },
  { role: "owner", name: "Olga Owner", email: "owner@example.com", surface: "admin" },
  { role: "analyst", name: "Ana Analyst", email: "analyst@example.com", surface: "admin" },
  { role: "support", name: "Sam Support", email: "support@example.com", surface: "user" },
]

/** The same in every demo, so that it can be printed although only its hash is stored. */
export function demoKey({ email, surface }: { email: string; surface: Surface }): string {
  const random = createHash("sha512")
    .update(`${product.slug} demo ${email}`)
    .digest("base64")
    .replaceAll(/[^0-9A-Za-z]/g, "")
  return secretOf(kinds[surface].prefix, random.slice(0, 43))
}
