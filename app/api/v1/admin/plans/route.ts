import { z } from "zod"
import { PlanInterval } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { findIn } from "@/lib/platform/postgres/page"
import { credits, currency, currencyCode, minorUnits, timestamp } from "@/lib/platform/schemas/fields"

const planInterval = z.enum(PlanInterval)

const planRow = z.object({
  id: z.string().describe("Readable, such as pro_month_usd"),
  name: z.string(),
  amount: minorUnits.describe("Minor units per interval, for new subscriptions"),
  currency,
  interval: planInterval.describe("The billing interval"),
  credits: credits.describe("Credits granted in every period"),
  createdAt: timestamp,
  retiredAt: timestamp.nullable().describe("When it was retired; null if it is offered"),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the plans, including retired ones",
  permission: "billing.read",
  filters: { interval: planInterval, currency: currencyCode },
  row: planRow,
  // A product has few plans, so they are counted.
  find: findIn({ table: "plans", row: planRow }),
})
