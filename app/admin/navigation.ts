import { ChartNoAxesColumn } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/stats/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  label: "Overview",
  keywords: "mrr revenue churn growth sign-ups conversion statistics dashboard",
  icon: ChartNoAxesColumn,
}
