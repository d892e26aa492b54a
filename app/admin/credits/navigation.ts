import { ScrollText } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/credits/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Billing",
  after: "/admin/credits/balances",
  label: "Credit ledger",
  keywords: "grants deductions refunds expiries transactions",
  icon: ScrollText,
}
