import { Repeat } from "lucide-react"
import { GET } from "@/app/api/v1/admin/subscriptions/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Money",
  label: "Subscriptions",
  icon: Repeat,
  permission: GET.endpoint.permission,
}
