import { History } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/audit/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Logs",
  label: "Audit log",
  icon: History,
  permission: GET.endpoint.permission,
}
