import { BookOpen } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = { area: "public", label: "API reference", icon: BookOpen, permission: null }
