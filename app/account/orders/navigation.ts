import { Receipt } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/requests",
  label: "Your orders",
  keywords: "billing payments refunds invoices receipts purchases",
  icon: Receipt,
  permission: null,
}
