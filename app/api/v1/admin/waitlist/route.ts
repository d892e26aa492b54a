import { z } from "zod"
import { WaitlistStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/endpoint"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { dailyTotal } from "@/lib/postgres/daily-sums"
import { findIn, type Page } from "@/lib/postgres/page"
import { waitlistSource } from "@/lib/waitlist/source"

const waitlistStatus = z.enum(WaitlistStatus)

const waitlistRow = z.object({
  id,
  email: untrustedText,
  note: untrustedText.nullable(),
  source: untrustedText.describe("The source named in the link to the waitlist form, such as landing"),
  status: waitlistStatus.describe("joined means that an account with this email address signed up"),
  createdAt: timestamp,
  invitedAt: timestamp.nullable(),
})

function findWaitlist(where: { status?: WaitlistStatus; source?: string }, page: Page) {
  return findIn({ table: "waitlist_entries", row: waitlistRow, total: dailyTotal("waitlist_entries") }, where, page)
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the entries of the waitlist",
  permission: "waitlist.read",
  filters: { status: waitlistStatus, source: waitlistSource },
  row: waitlistRow,
  find: findWaitlist,
})
