import { Coins } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/credits/balances/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Billing",
  label: "Credit balances",
  icon: Coins,
  permission: GET.endpoint.permission,
}
