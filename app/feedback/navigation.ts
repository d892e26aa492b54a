import { MessageSquare } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  position: 7,
  label: "Send feedback",
  icon: MessageSquare,
  permission: null,
}
