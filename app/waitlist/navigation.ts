import { ListPlus } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = { area: "public", label: "Join the waitlist", icon: ListPlus, permission: null }
