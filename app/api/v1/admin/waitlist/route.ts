import { z } from "zod"
import { WaitlistStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { listed } from "@/lib/postgres/listed"
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

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the entries of the waitlist",
  permission: "waitlist.read",
  filters: { status: waitlistStatus, source: waitlistSource },
  row: waitlistRow,
  find: listed("waitlist_entries", waitlistRow),
})
