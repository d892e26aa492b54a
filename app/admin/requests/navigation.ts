import { ArrowLeftRight } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/requests/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Logs",
  label: "API requests",
  keywords: "calls errors failures request log status codes latency",
  icon: ArrowLeftRight,
  actions: [{ label: "Failed API requests", query: "?status=failed" }],
}
