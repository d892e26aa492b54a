import { z } from "zod"
import { adminList } from "@/lib/api/endpoint"
import { id } from "@/lib/fields"
import { findSubscriptions, subscriptionRow, subscriptionStatus } from "@/lib/subscriptions"

const planId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a plan's id: a letter, then letters, digits and _")
  .describe("A plan's id")

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Subscriptions of every account",
  permission: "billing.read",
  filters: { status: subscriptionStatus, planId, userId: id },
  row: subscriptionRow,
  find: findSubscriptions,
})
