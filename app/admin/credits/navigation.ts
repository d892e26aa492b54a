import { ScrollText } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/credits/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Billing",
  position: 4,
  label: "Credit ledger",
  icon: ScrollText,
}
