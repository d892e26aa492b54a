import { z } from "zod"

export const maxReportedKeys = 100

export const leakReport = z.strictObject({
  keys: z
    .array(z.string())
    .min(1, "must not be empty")
    .max(maxReportedKeys, `must have at most ${maxReportedKeys} keys`)
    .describe(`The keys that leaked, at most ${maxReportedKeys}; text around a key, and other texts, are ignored`),
})

export const leakReceipt = z.strictObject({ received: z.literal(true) })
