import { Mail } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/emails/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Logs",
  after: "/admin/usage",
  label: "Emails",
  keywords: "mail messages bounced delivery sent",
  icon: Mail,
}
