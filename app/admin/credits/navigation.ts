import { ScrollText } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/credits/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Billing",
  label: "Credit ledger",
  icon: ScrollText,
  permission: GET.endpoint.permission,
}
