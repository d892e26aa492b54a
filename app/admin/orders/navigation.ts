import { Receipt } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/orders/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Billing",
  label: "Orders",
  icon: Receipt,
  permission: GET.endpoint.permission,
}
