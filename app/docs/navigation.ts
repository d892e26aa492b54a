import { BookOpen } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "help",
  position: 1,
  label: "API reference",
  icon: BookOpen,
  permission: null,
}
