import { z } from "zod"
import { FeedbackStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { accountColumns, accountDimensions, family } from "@/lib/metrics/family"
import { listed } from "@/lib/platform/postgres/listed"
import { id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

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
  reply: untrustedText.nullable().describe("The last reply that was sent"),
  repliedById: id.nullable().describe("The account that replied"),
  repliedAt: timestamp.nullable(),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists customer feedback about the product",
  permission: "feedback.read",
  search: { table: "feedback", account: "userId" },
  filters: { status: feedbackStatus, rating, userId: id },
  row: feedbackRow,
  find: listed("feedback", feedbackRow),
  metrics: family({
    name: "feedback",
    dimensions: {
      rating: { schema: rating, description: "From 1 (bad) to 5 (good)" },
      status: { schema: feedbackStatus, description: "The status now" },
      ...accountDimensions,
    },
    facts: {
      given: {
        series: { name: "feedback", dimensions: { status: "label", rating: "sublabel" }, amount: "n * sublabel::int" },
        rows: {
          from: "feedback",
          at: "created_at",
          amount: "rating",
          dimensions: { status: "status", rating: "rating", ...accountColumns },
        },
      },
    },
    measures: {
      feedback: { unit: "count", sum: "given", of: "n", definition: "Feedback given in the period" },
      averageRating: {
        unit: "rating",
        ratio: [
          { fact: "given", of: "amount" },
          { fact: "given", of: "n" },
        ],
        definition: "Mean rating of the feedback given in the period; null without any",
      },
    },
  }),
})
