import { z } from "zod"
import { parseNetwork } from "@/lib/platform/rate-limit/ip-address"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { optional, several } from "@/lib/platform/schemas/form-fields"
import { type SpendPeriod, spendPeriods } from "./choices"
import { type Scope, scopeMeanings } from "./scopes"

const maxNetworks = 50

const maxSpendLimit = 1_000_000_000

export const scopesField = several(
  Object.keys(scopeMeanings).length,
  z
    .array(z.enum(Object.keys(scopeMeanings) as [Scope, ...Scope[]], { error: "Reload the page and choose again." }))
    .min(1, "Choose at least one permission."),
)

export const limitFields = z.strictObject({
  addresses: several(
    maxNetworks,
    z
      .array(
        z.string().transform((text, context) => {
          const network = parseNetwork(text)
          if (network) return network
          const message = `“${text.slice(0, 60)}” is neither an IP address nor a network such as 203.0.113.0/24 or 2001:db8::/32.`
          context.addIssue({ code: "custom", message })
          return z.NEVER
        }),
      )
      .transform((networks) => [...new Set(networks)]),
  ),
  requestsPerMinute: optional(wholeNumber(1, limits.key.tokens)),
})

/** Only user keys can make metered calls. */
export const spendingLimitFields = limitFields.extend({
  spendLimit: optional(wholeNumber(0, maxSpendLimit)),
  spendPeriod: optional(
    z.enum(Object.keys(spendPeriods) as [SpendPeriod, ...SpendPeriod[]], { error: "Choose a period." }),
  ),
})

export type LimitForm = z.output<typeof limitFields> & Partial<z.output<typeof spendingLimitFields>>

function wholeNumber(min: number, max: number) {
  const error = `Enter a whole number from ${min} to ${max.toLocaleString("en")}, or leave this empty.`
  return z
    .string()
    .trim()
    .regex(/^\d{1,10}$/, error)
    .transform(Number)
    .refine((number) => number >= min && number <= max, error)
}

export function limitColumns({ addresses, requestsPerMinute, spendLimit = null, spendPeriod = null }: LimitForm) {
  return {
    allowedCidrs: addresses,
    requestsPerMinute,
    spendLimit,
    spendPeriod: spendLimit === null ? null : (spendPeriod ?? "month"),
  }
}
