import { z } from "zod"
import { FeedbackStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { listed } from "@/lib/postgres/listed"

const feedbackStatus = z.enum(FeedbackStatus)
const rating = z
  .string()
  .regex(/^[1-5]$/, "must be an integer from 1 to 5")
  .transform(Number)
  .meta({ type: "integer", minimum: 1, maximum: 5 })

const feedbackRow = z.object({
  id,
  userId: id.describe("The account that submitted the feedback"),
  rating: z.int().describe("Rating from 1 (bad) to 5 (good)"),
  message: untrustedText,
  status: feedbackStatus,
  createdAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists customer feedback about the product",
  permission: "feedback.read",
  filters: { status: feedbackStatus, rating, userId: id },
  row: feedbackRow,
  find: listed("feedback", feedbackRow),
})
