import { CreditCard } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "admin",
  permission: "billing.read",
  section: "Billing",
  after: "/admin/credits",
  label: "Payments",
  keywords: "provider stripe differences reconciliation refunds outbox webhooks",
  icon: CreditCard,
}
