import { Receipt } from "lucide-react"
import { GET } from "@/app/api/v1/admin/orders/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Money",
  label: "Orders",
  icon: Receipt,
  permission: GET.endpoint.permission,
}
