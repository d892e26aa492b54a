import { z } from "zod"
import { neededForCall } from "@/lib/credits/balance"
import { describeKey } from "@/lib/keys/key-description"
import type { Scope } from "@/lib/keys/scopes"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"
import type { Surface } from "@/lib/surfaces"
import type { Routes } from "./endpoint"
import { oneObject } from "./object"

const credits = z.int().min(0)

const callingKey = z.object({
  id,
  name: untrustedText,
  start: z.string().describe("The first characters of the key, as in lists"),
  surface: z.enum(["admin", "user"]),
  scopes: z.array(z.string()).describe("The permissions of the key now; its owner's role can narrow them"),
  createdAt: timestamp,
  expiresAt: timestamp.nullable(),
  predecessorId: id.nullable().describe("The key that this one replaced in a rotation"),
  successorId: id.nullable().describe("The key that replaced this one"),
  limits: z.object({
    requests: z.object({
      perMinute: z.int().min(1).max(limits.key.tokens),
      remaining: z.int().min(0),
      resetSeconds: z.int().min(1).describe("Seconds until the window ends"),
    }),
    spending: z
      .object({
        limit: credits.describe("Credits per period"),
        period: z.enum(["day", "week", "month", "never"]).describe("In UTC; weeks start on Monday"),
        spent: credits,
        held: credits.describe("The most that running calls can still cost"),
        remaining: credits,
        resetsAt: timestamp.nullable().describe("The start of the next period"),
      })
      .nullable()
      .describe("Null without a limit"),
    addresses: z.array(z.string()).nullable().describe("The networks that may use the key; null: all"),
  }),
})

const spendingKey = callingKey.extend({ limits: callingKey.shape.limits.extend({ neededForCall }) })

export function callingKeyRoutes(
  surface: Surface,
  scopesOf: (role: string) => Promise<Scope[]>,
  needed?: () => Promise<number | null>,
): Routes {
  const data: z.ZodType = needed ? spendingKey : callingKey
  return oneObject({
    surface,
    scope: undefined,
    summary: "Returns the calling key: its scopes, its expiry and its remaining limits",
    data,
    get: async ({ caller: { key, owner, verdict }, withinDeadline }) => {
      const { scopes, allowed_cidrs: addresses } = key
      const [{ spending, ...described }, offered] = await Promise.all([
        withinDeadline(() => describeKey(key)),
        scopesOf(owner.role),
      ])
      const { limit: perMinute, remaining, resetSeconds } = verdict
      return {
        ...described,
        scopes: offered.filter((scope) => !scopes || scopes.includes(scope)),
        limits: {
          requests: { perMinute, remaining, resetSeconds },
          // A lowered limit can be below the spent credits.
          spending: spending && {
            ...spending,
            remaining: Math.max(0, spending.limit - spending.spent - spending.held),
          },
          addresses,
          neededForCall: await needed?.(),
        },
      }
    },
  })
}
