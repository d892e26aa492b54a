import { History } from "lucide-react"
import { GET } from "@/app/api/v1/admin/audit/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Records",
  label: "Audit log",
  icon: History,
  permission: GET.endpoint.permission,
}
