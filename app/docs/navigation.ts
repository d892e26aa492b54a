import { BookOpen } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "public", label: "API reference", icon: BookOpen, permission: null }
