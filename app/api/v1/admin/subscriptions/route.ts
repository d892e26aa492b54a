import { z } from "zod"
import { adminList } from "@/lib/api/lists"
import { id } from "@/lib/fields"
import { listed } from "@/lib/postgres/listed"
import { payingSince, subscriptionRow, subscriptionStatus } from "@/lib/subscriptions"

const planId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a plan's id: a letter, then letters, digits and _")
  .describe("Id of a plan")

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the subscriptions of all accounts",
  permission: "billing.read",
  filters: { status: subscriptionStatus, planId, userId: id },
  row: subscriptionRow,
  find: listed("subscriptions", subscriptionRow, { columns: { payingSince } }),
  recipes: {
    "Churn by plan: subscriptions started and canceled, and the average duration of canceled ones in days": `
const plans = {}
for (const { planId, createdAt, canceledAt, replacesId, replaced } of await all("/api/v1/admin/subscriptions")) {
  const plan = (plans[planId] ??= { planId, started: 0, lost: 0, days: 0 })
  if (replacesId === null) plan.started += 1
  if (canceledAt === null || replaced) continue
  plan.lost += 1
  plan.days += (Date.parse(canceledAt) - Date.parse(createdAt)) / 86400000
}
return Object.values(plans)
  .map(({ days, ...plan }) => ({ ...plan, averageDays: plan.lost > 0 ? days / plan.lost : null }))
  .sort((a, b) => (a.planId < b.planId ? -1 : 1))`,
  },
})
