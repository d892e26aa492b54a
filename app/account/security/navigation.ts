import { LockKeyhole } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  position: 7,
  label: "Security",
  icon: LockKeyhole,
  permission: null,
}
