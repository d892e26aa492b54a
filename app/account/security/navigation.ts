import { ShieldCheck } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "account", label: "Security", icon: ShieldCheck, permission: null }
