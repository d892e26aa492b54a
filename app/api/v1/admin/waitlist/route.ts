import { z } from "zod"
import { WaitlistStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/endpoint"
import { db } from "@/lib/db"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { findIn, type Page } from "@/lib/page"

const waitlistStatus = z.enum(WaitlistStatus)
const source = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, "must be a source's name, like landing")

const waitlistRow = z.object({
  id,
  email: z.string(),
  note: untrustedText.nullable(),
  source: z.string().describe("Where the form stood"),
  status: waitlistStatus.describe("joined: an account with this address has signed up"),
  createdAt: timestamp,
  invitedAt: timestamp.nullable(),
})

function findWaitlist(where: { status?: WaitlistStatus; source?: string }, page: Page) {
  return findIn(db().waitlistEntry, where, page)
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Who waits for an account",
  permission: "waitlist.read",
  filters: { status: waitlistStatus, source },
  row: waitlistRow,
  find: findWaitlist,
})
