import { ShieldCheck } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"
import { kinds } from "@/lib/keys/kinds"

export const entry: NavigationEntry = {
  area: "admin",
  section: "Developers",
  label: "API keys",
  icon: ShieldCheck,
  permission: kinds.admin.issuing,
}
