import { ScrollText } from "lucide-react"
import { GET } from "@/app/api/v1/admin/credits/route"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Money",
  label: "Credit ledger",
  icon: ScrollText,
  permission: GET.endpoint.permission,
}
