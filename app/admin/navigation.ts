import { ChartNoAxesColumn } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/stats/route"

export const entry: NavigationEntry = {
  area: "admin",
  label: "Overview",
  icon: ChartNoAxesColumn,
  permission: GET.endpoint.permission,
}
