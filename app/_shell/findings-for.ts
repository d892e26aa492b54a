import { product } from "@/lib/product"
import type { Finding } from "./findings"
import { sectionsFor } from "./sections"

export const support = {
  group: "Actions",
  label: "Contact support",
  note: product.supportEmail,
  keywords: "help billing upgrade cancel",
  href: `mailto:${product.supportEmail}`,
} as const satisfies Finding

/** Buttons of the account menu. */
const buttons: readonly Finding[] = [
  ...(["light", "dark", "system"] as const).map((theme) => ({
    group: "Actions" as const,
    label: `${theme.charAt(0).toUpperCase()}${theme.slice(1)} theme`,
    keywords: "mode appearance colors",
    href: `#account [value=${theme}]`,
  })),
  { group: "Actions", label: "Sign out", keywords: "log out logout exit switch account", href: "#sign-out" },
]

/** Pages come before actions of the same name. @param role none for a visitor */
export async function findingsFor(role?: string): Promise<Finding[]> {
  const own = role === undefined ? [] : (["account", "admin"] as const)
  const areas = await Promise.all(
    [...own, "help" as const, "site" as const].map((area) => sectionsFor(area, role ?? "")),
  )
  const entries = areas.flat().flatMap(({ entries }) => entries)
  return [
    ...entries.map(
      ({ href, label, keywords }): Finding => ({ group: "Pages", label, href, ...(keywords && { keywords }) }),
    ),
    ...entries.flatMap(({ href, actions = [] }) =>
      actions.map(({ query, ...action }): Finding => ({ group: "Actions", ...action, href: href + query })),
    ),
    ...buttons,
    support,
  ]
}
