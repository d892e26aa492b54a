import { MessageSquare } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/feedback/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Customers",
  after: "/admin/users",
  label: "Feedback",
  keywords: "reply resolve ratings nps reviews",
  icon: MessageSquare,
  finds: "feedback",
}
