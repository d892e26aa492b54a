import { MessageSquare } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/feedback/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Customers",
  position: 2,
  label: "Feedback",
  icon: MessageSquare,
  finds: "feedback",
}
