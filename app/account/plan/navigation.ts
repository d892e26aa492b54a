import { CreditCard } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/credits",
  label: "Plan",
  keywords: "subscribe subscription upgrade downgrade change cancel resume card invoices receipts packs pricing",
  icon: CreditCard,
  permission: null,
}
