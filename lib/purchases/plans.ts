import { db } from "@/lib/platform/postgres/prisma"

export function listPlans() {
  return db().plan.findMany({ orderBy: [{ currency: "desc" }, { interval: "asc" }, { amount: "asc" }] })
}
