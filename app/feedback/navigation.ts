import { MessageSquare } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = { area: "account", label: "Feedback", icon: MessageSquare, permission: null }
