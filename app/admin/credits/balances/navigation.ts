import { Coins } from "lucide-react"
import { GET } from "@/app/api/v1/admin/credits/balances/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Money",
  label: "Credit balances",
  icon: Coins,
  permission: GET.endpoint.permission,
}
