import { Mail } from "lucide-react"
import { GET } from "@/app/api/v1/admin/emails/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Records",
  label: "E-mails",
  icon: Mail,
  permission: GET.endpoint.permission,
}
