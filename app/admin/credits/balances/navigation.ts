import { Coins } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/credits/balances/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Billing",
  after: "/admin/orders",
  label: "Credit balances",
  keywords: "wallet low credits",
  icon: Coins,
}
