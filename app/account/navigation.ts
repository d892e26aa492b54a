import { CircleUser } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = { area: "account", label: "Account", icon: CircleUser, permission: null }
