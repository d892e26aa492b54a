import { Mail } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/emails/route"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Logs",
  label: "Emails",
  icon: Mail,
  permission: GET.endpoint.permission,
}
