import { z } from "zod"
import { WaitlistStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { family } from "@/lib/metrics/family"
import { packed } from "@/lib/platform/postgres/daily-sums"
import { listed } from "@/lib/platform/postgres/listed"
import { id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"
import { waitlistSource } from "@/lib/waitlist/source"

const waitlistStatus = z.enum(WaitlistStatus)

const waitlistRow = z.object({
  id,
  email: untrustedText,
  note: untrustedText.nullable(),
  source: untrustedText.describe("Named in the link to the form, such as landing"),
  status: waitlistStatus.describe("joined: an account with this address signed up"),
  createdAt: timestamp,
  invitedAt: timestamp.nullable(),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the entries of the waitlist",
  permission: "waitlist.read",
  search: { table: "waitlist_entries", text: "email" },
  filters: { status: waitlistStatus, source: waitlistSource },
  row: waitlistRow,
  find: listed("waitlist_entries", waitlistRow),
  metrics: family({
    name: "waitlist",
    dimensions: {
      source: { schema: waitlistSource, description: "As in the list", untrusted: true },
      status: { schema: waitlistStatus, description: "The status now" },
    },
    facts: {
      entered: {
        series: { name: "waitlist_entries.by_source", dimensions: { source: packed(1), status: packed(2) } },
        rows: { from: "waitlist_entries", at: "created_at", dimensions: { source: "source", status: "status" } },
      },
      joined: {
        series: {
          name: "waitlist_entries.by_source",
          dimensions: { source: packed(1), status: packed(2) },
          condition: `${packed(2)} = 'joined'`,
        },
        rows: {
          from: "(SELECT * FROM waitlist_entries WHERE status = 'joined') joined",
          at: "created_at",
          dimensions: { source: "source", status: "status" },
        },
      },
    },
    measures: {
      entries: { unit: "count", sum: "entered", of: "n", definition: "Entries made in the period" },
      joinedShare: {
        unit: "share",
        ratio: [
          { fact: "joined", of: "n" },
          { fact: "entered", of: "n" },
        ],
        definition: "Share of them whose address has an account by now; null without any",
      },
    },
  }),
})
