import { Coins } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "account", label: "Credits", icon: Coins, permission: null }
