import { Receipt } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/orders/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Billing",
  after: "/admin/subscriptions",
  label: "Orders",
  keywords: "billing payments refunds revenue invoices receipts purchases",
  icon: Receipt,
}
