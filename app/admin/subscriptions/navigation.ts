import { Repeat } from "lucide-react"
import { adminPage, type NavigationEntry } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/subscriptions/route"

export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Billing",
  label: "Subscriptions",
  keywords: "billing plans renewals cancellations churned past due",
  icon: Repeat,
}
