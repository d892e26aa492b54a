import { CircleUser } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "account", label: "Account", icon: CircleUser, permission: null }
