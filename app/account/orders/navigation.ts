import { Receipt } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "account", label: "Orders", icon: Receipt, permission: null }
