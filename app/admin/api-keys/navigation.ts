import { ShieldCheck } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { kinds } from "@/lib/surfaces"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Developers",
  label: "Admin keys",
  keywords: "rotate revoke agents tokens scopes",
  icon: ShieldCheck,
  permission: kinds.admin.issuePermission,
  actions: [{ label: "Create an admin key", query: "?new" }],
}
