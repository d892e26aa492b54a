import { Users } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/users/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Customers",
  label: "Users",
  icon: Users,
  permission: GET.endpoint.permission,
}
