import { KeyRound } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"
import { kinds } from "@/lib/surfaces"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account",
  label: kinds.user.title,
  keywords: "rotate revoke limit tokens secrets",
  icon: KeyRound,
  permission: kinds.user.issuePermission,
  actions: [{ label: "Create an API key", query: "?new" }],
}
