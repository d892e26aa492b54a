import { LockKeyhole } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = { area: "account", label: "Security", icon: LockKeyhole, permission: null }
