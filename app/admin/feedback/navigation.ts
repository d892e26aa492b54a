import { MessageSquare } from "lucide-react"
import { GET } from "@/app/api/v1/admin/feedback/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Customers",
  label: "Feedback",
  icon: MessageSquare,
  permission: GET.endpoint.permission,
}
