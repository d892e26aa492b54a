import { ChartNoAxesColumn } from "lucide-react"
import { GET } from "@/app/api/v1/admin/stats/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  label: "Overview",
  icon: ChartNoAxesColumn,
  permission: GET.endpoint.permission,
}
