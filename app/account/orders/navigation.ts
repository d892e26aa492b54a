import { Receipt } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/requests",
  label: "Your orders",
  icon: Receipt,
  permission: null,
}
