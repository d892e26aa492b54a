import { CircleUser } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  label: "Home",
  keywords: "start overview dashboard",
  icon: CircleUser,
  permission: null,
}
