import { KeyRound } from "lucide-react"
import type { NavigationEntry } from "@/components/navigation"
import { kinds } from "@/lib/keys/kinds"

export const entry: NavigationEntry = {
  area: "account",
  label: kinds.user.title,
  icon: KeyRound,
  permission: kinds.user.issuing,
}
