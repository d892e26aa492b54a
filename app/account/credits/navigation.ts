import { Coins } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/api-keys",
  label: "Credits",
  keywords: "add buy top up billing balance usage ledger spending plan",
  icon: Coins,
  permission: null,
}
