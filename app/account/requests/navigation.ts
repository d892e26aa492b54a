import { ArrowLeftRight } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/credits",
  label: "Requests",
  keywords: "calls errors failures log status codes debug",
  icon: ArrowLeftRight,
  permission: null,
  actions: [{ label: "Failed requests", query: "?status=failed" }],
}
