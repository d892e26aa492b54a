import { Repeat } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/subscriptions/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Billing",
  label: "Subscriptions",
  icon: Repeat,
  permission: GET.endpoint.permission,
}
