import { Users } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/users/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Customers",
  label: "Accounts",
  keywords: "ban unban close delete role users customers people members",
  icon: Users,
}
