import { BookOpen } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "help",
  label: "API reference",
  icon: BookOpen,
  permission: null,
}
