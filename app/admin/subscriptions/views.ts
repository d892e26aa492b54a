import { daysAgo } from "@/components/list/dates"
import type { View } from "@/components/list/views"

export function viewsOfSubscriptions(now: Date): readonly View[] {
  return [
    { label: "Past due", search: "status=past_due" },
    { label: "Cancels at period end", search: "cancelAtPeriodEnd=true" },
    { label: "No call for 14 days", search: "idleDays=14" },
    {
      label: "Ended in the last 30 days",
      note: "Without changes of plan",
      search: `churnedSince=${daysAgo(29, now)}`,
    },
  ]
}
