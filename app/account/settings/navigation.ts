import { Settings } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/orders",
  label: "Settings",
  keywords: "profile name picture avatar theme preferences",
  icon: Settings,
  permission: null,
  actions: [
    { label: "Export your data", query: "#export", keywords: "download my data" },
    { label: "Delete your account", query: "#deletion", keywords: "delete account close my account" },
  ],
}
