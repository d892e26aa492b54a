import { Receipt } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = { area: "account", label: "Orders", icon: Receipt, permission: null }
