import { History } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/audit/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Logs",
  after: "/admin/usage",
  label: "Audit log",
  keywords: "history activity sign-ins who did what changes",
  icon: History,
}
