import { ArrowLeftRight } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  position: 4,
  label: "Requests",
  icon: ArrowLeftRight,
  permission: null,
}
