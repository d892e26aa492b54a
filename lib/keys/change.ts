import { z } from "zod"
import type { ApiKey } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { lockViewer } from "@/lib/authority/authority"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden } from "@/lib/platform/schemas/form-fields"
import type { Viewer } from "@/lib/sign-in/session-rows"
import type { Surface } from "@/lib/surfaces"
import { settingsText } from "./choices"
import { stateOf } from "./data"
import { type LimitForm, limitColumns, limitFields, spendingLimitFields } from "./limit-fields"
import { auditedLimits, keyName } from "./mutations"

// Of two forms that were opened at once, the second one would undo changes of the first, such as allowed addresses.
const named = { id: hidden(z.uuid()), shown: hidden(z.string()), name: keyName }

/** The scopes of a key never change. */
export const changeForms = {
  admin: z.strictObject({ ...named, ...limitFields.shape }),
  user: z.strictObject({ ...named, ...spendingLimitFields.shape }),
} as const satisfies Record<Surface, z.ZodObject>

export type KeyChange = { id: string; shown?: string; name: string } & LimitForm

type KeyChangeResult =
  | { ok: true; start: string }
  | { ok: false; reason: "signed_out" | "not_found" | "ended" | "changed_since" }
  | { ok: false; reason: "too_many_changes"; retryAfterSeconds: number }

export async function changeKey(surface: Surface, viewer: Viewer, form: KeyChange): Promise<KeyChangeResult> {
  const verdict = await consume("keyChangesAccount", viewer.id)
  if (!verdict.allowed) return { ok: false, reason: "too_many_changes", retryAfterSeconds: verdict.resetSeconds }
  const { id, shown, name } = form
  return db().$transaction(async (transaction): Promise<KeyChangeResult> => {
    if (!(await lockViewer(transaction, viewer))) return { ok: false, reason: "signed_out" }
    const [{ now }] = await transaction.$queryRaw<[{ now: Date }]>`SELECT now() AS now`
    const key = await transaction.apiKey.findFirst({ where: { id, surface, userId: viewer.id } })
    if (!key) return { ok: false, reason: "not_found" }
    if (stateOf(key, now) !== "active") return { ok: false, reason: "ended" }
    const columns = limitColumns(form)
    // The same form may be sent again, after a lost response.
    if (shown && ![shown, settingsOf({ name, ...columns })].includes(settingsOf(key))) {
      return { ok: false, reason: "changed_since" }
    }
    const { allowedCidrs, requestsPerMinute, spendLimit, spendPeriod } = columns
    // Also of the key that it replaced, which may still work. Prisma cannot write NULL to a list.
    await transaction.$executeRaw`
      UPDATE api_keys SET name = ${name}, allowed_cidrs = nullif(${allowedCidrs}::text[], '{}'),
        requests_per_minute = ${requestsPerMinute}, spend_limit = ${spendLimit}, spend_period = ${spendPeriod}::spend_period
      WHERE id = ${id}::uuid OR successor_id = ${id}::uuid`
    const limits = { scopes: key.scopes, allowedCidrs, requestsPerMinute, spendLimit, spendPeriod }
    const addressesChanged = key.allowedCidrs.join() !== allowedCidrs.join()
    const details = { surface, start: key.start, ...auditedLimits(limits), addressesChanged }
    await audit(transaction, {
      actorId: viewer.id,
      action: "api_key.changed",
      targetType: "api_key",
      targetId: id,
      details,
    })
    return { ok: true, start: key.start }
  })
}

type Settings = Pick<ApiKey, "name" | "allowedCidrs" | "requestsPerMinute" | "spendPeriod"> & {
  spendLimit: bigint | number | null
}

function settingsOf({ name, allowedCidrs, requestsPerMinute, spendLimit, spendPeriod }: Settings): string {
  const spending =
    spendLimit === null || spendPeriod === null ? null : { limit: Number(spendLimit), period: spendPeriod }
  return settingsText(name, allowedCidrs, requestsPerMinute, spending)
}
