import { Hourglass } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/waitlist/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Customers",
  after: "/admin/users",
  label: "Waitlist",
  keywords: "invite invitations sign-ups beta",
  icon: Hourglass,
  finds: "waitlist_entry",
}
