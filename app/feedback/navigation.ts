import { MessageSquare } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/security",
  label: "Send feedback",
  keywords: "suggestion bug report rating idea",
  icon: MessageSquare,
  permission: null,
}
