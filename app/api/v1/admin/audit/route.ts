import { z } from "zod"
import { adminList } from "@/lib/api/endpoint"
import { id, timestamp } from "@/lib/fields"
import { dailyTotal } from "@/lib/postgres/daily-sums"
import { findIn, type Page } from "@/lib/postgres/page"

const name = z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, "must be a name like user.signed_in or user")

const auditRow = z.object({
  id,
  actorId: id.nullable().describe("The account that did it; null for the system and its operator's scripts"),
  action: z.string().describe("What was done, as noun.verb: user.signed_in, api_key.issued"),
  targetType: z.string().describe("What it was done to: user, api_key"),
  targetId: z.string(),
  details: z
    .unknown()
    .meta({ "x-untrusted": true, description: "What else is known of it; the fields depend on the action" }),
  createdAt: timestamp,
})

type AuditWhere = { actorId?: string; action?: string; targetType?: string; targetId?: string }

function findAuditEntries(where: AuditWhere, page: Page) {
  return findIn({ table: "audit_entries", row: auditRow, total: dailyTotal("audit_entries") }, where, page)
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Who did what: sign-ins, key changes and every action of the console",
  permission: "audit.read",
  filters: { actorId: id, action: name, targetType: name, targetId: id },
  row: auditRow,
  find: findAuditEntries,
})
