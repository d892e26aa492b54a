import { Hourglass } from "lucide-react"
import { GET } from "@/app/api/v1/admin/waitlist/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Customers",
  label: "Waitlist",
  icon: Hourglass,
  permission: GET.endpoint.permission,
}
