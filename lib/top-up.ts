import { topUp } from "@optional/payments/top-up"
import { env } from "@/lib/env"

/** The page on which customers pay, or the text about adding credits by hand where nothing sells. */
export function addingCredits(): { href: string; label: string; url: string } {
  const found = topUp() ?? { href: "/docs#credits", label: "How to add credits" }
  return { ...found, url: `${env().BASE_URL}${found.href}` }
}
