import { Hourglass } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/waitlist/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Customers",
  label: "Waitlist",
  icon: Hourglass,
  permission: GET.endpoint.permission,
}
