import { ChartColumnStacked } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/usage/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Logs",
  after: "/admin/requests",
  label: "API usage",
  keywords: "calls traffic endpoints errors statistics",
  icon: ChartColumnStacked,
}
