import { BookOpen } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "help",
  label: "API reference",
  keywords: "documentation docs endpoints errors sdk openapi curl",
  icon: BookOpen,
  permission: null,
}
