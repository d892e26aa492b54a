import { LockKeyhole } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"

export const entry: NavigationEntry = { area: "account", label: "Security", icon: LockKeyhole, permission: null }
