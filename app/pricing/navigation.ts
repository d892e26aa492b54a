import { Tag } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "site",
  label: "Pricing",
  keywords: "plans packs prices cost buy monthly yearly",
  icon: Tag,
  permission: null,
}
