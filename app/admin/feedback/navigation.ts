import { MessageSquare } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/feedback/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Customers",
  label: "Feedback",
  icon: MessageSquare,
  permission: GET.endpoint.permission,
}
