import { z } from "zod"
import { userMetered } from "@/lib/api/metered"

// tests/support/changed-copy.ts puts this file in the place of app/api/v1/me/run/route.ts, and beside it.

const maxCost = 3

const numbers = z
  .array(z.number())
  .min(1, "must not be empty")
  .meta({ description: "The numbers to add", examples: [[1, 2, 3.5]] })

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userMetered({
  summary: `Adds numbers; costs 1 credit per number, at most ${maxCost}`,
  maxCost,
  body: z.strictObject({ numbers }),
  result: z.object({ sum: z.number().describe("The sum of the numbers") }),
  work: async ({ numbers }) => ({
    result: { sum: numbers.reduce((sum, number) => sum + number, 0) },
    cost: Math.min(maxCost, numbers.length),
  }),
})
