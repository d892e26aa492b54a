import { Users } from "lucide-react"
import { GET } from "@/app/api/v1/admin/users/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Customers",
  label: "Users",
  icon: Users,
  permission: GET.endpoint.permission,
}
