import { ArrowLeftRight } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/credits",
  label: "Requests",
  icon: ArrowLeftRight,
  permission: null,
}
