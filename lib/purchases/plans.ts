import { db } from "@/lib/platform/postgres/prisma"

/** All plans, the cheapest first in each currency. */
export function listPlans() {
  return db().plan.findMany({ orderBy: [{ currency: "desc" }, { interval: "asc" }, { amount: "asc" }] })
}
