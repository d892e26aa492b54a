import { MessageSquare } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "account", label: "Feedback", icon: MessageSquare, permission: null }
