import { z } from "zod"
import { adminList } from "@/lib/api/lists"
import { auditActions, auditTargets } from "@/lib/audit/entries"
import { detailsForReaders } from "@/lib/leaving/personal-data"
import { accountDimensions, emailOf, family } from "@/lib/metrics/family"
import { listed } from "@/lib/platform/postgres/listed"
import { id, timestamp } from "@/lib/platform/schemas/fields"

const name = z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, "must be a name like user.signed_in or user")

const auditRow = z.object({
  id,
  actorId: id.nullable().describe("Who acted; null for the system, scripts of operators and failed sign-ins"),
  action: z.string().describe("The action, as in the filter"),
  targetType: z.string().describe("What was changed, as in the filter"),
  targetId: z.string(),
  details: z
    .transform(detailsForReaders)
    .pipe(z.unknown().meta({ "x-untrusted": true, description: "The fields depend on the action" })),
  createdAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the entries of the audit log: sign-ins, key changes and every action taken in the console",
  permission: "audit.read",
  filters: { actorId: id, action: z.enum(auditActions), targetType: z.enum(auditTargets), targetId: id },
  row: auditRow,
  find: listed("audit_entries", auditRow),
  metrics: family({
    name: "audit",
    dimensions: {
      action: {
        schema: name,
        description: "Such as user.banned; by=action returns all",
        isIndexed: true,
      },
      targetType: { schema: name, description: "What was changed" },
      actor: { ...accountDimensions.account, description: "Id of the account that acted" },
      email: { ...accountDimensions.email, description: "Address of the account that acted" },
      address: { schema: z.string(), description: "IP address of a sign-in, failed or not; empty for others" },
    },
    facts: {
      acted: {
        series: { name: "audit_entries", dimensions: { action: "label", targetType: "sublabel" } },
        rows: {
          from: "audit_entries",
          at: "created_at",
          dimensions: {
            action: "action",
            targetType: "target_type",
            actor: "actor_id",
            email: emailOf("actor_id"),
            address: "coalesce(details->>'address', '')",
          },
        },
      },
    },
    measures: {
      actions: { unit: "count", sum: "acted", of: "n", definition: "Entries of the audit log in the period" },
      actors: {
        unit: "count",
        distinct: "acted",
        column: "actor_id",
        definition: "Accounts that acted in the period",
      },
    },
  }),
})
