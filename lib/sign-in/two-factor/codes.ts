import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { type Client, countAddress, isDeviceOf, type TooMany } from "../attempts"
import { consumeAppCode, isAppCode } from "./app"
import { consumeRecoveryCode, isRecoveryCode } from "./recovery-codes"

export const lock = { wrongCodes: 5, minutes: 10 } as const

export const wrongCode =
  "This code is wrong, or was used before. Codes of an app depend on the time: check the clock of its device."

type Locked = { ok: false; reason: "locked"; retryAfterSeconds: number }

type CodeResult =
  | { ok: true; via: "app" }
  /** `message` sends an email; the caller runs it after the response. */
  | { ok: true; via: "recovery code"; message: () => Promise<void> }
  /** `message`: only for the code that has locked the codes of the app. */
  | { ok: false; reason: "wrong"; message?: () => Promise<void> }
  | Locked
  | TooMany

/** Recovery codes cannot be guessed, so they are not locked: nobody who knows the password can lock the owner out. */
export async function confirmCode(userId: string, typed: string, client: Client): Promise<CodeResult> {
  const refused = await countAddress(client)
  if (refused) return refused
  if (isRecoveryCode(typed)) {
    const message = await consumeRecoveryCode(userId, typed)
    return message ? { ok: true, via: "recovery code", message } : { ok: false, reason: "wrong" }
  }
  if (!isAppCode(typed)) return { ok: false, reason: "wrong" }
  const device = await deviceId(userId, client)
  const counted = await countWrong(userId, device)
  if ("reason" in counted) return counted
  if (!(await consumeAppCode(userId, typed))) {
    if (counted.wrong < lock.wrongCodes) return { ok: false, reason: "wrong" }
    return { ok: false, reason: "wrong", message: () => reportLock(userId, client) }
  }
  await db().codeAttempts.deleteMany({ where: { userId, device } })
  return { ok: true, via: "app" }
}

async function deviceId(userId: string, { device }: Client): Promise<string> {
  if (device === undefined) return ""
  const user = await db().user.findUniqueOrThrow({ where: { id: userId } })
  return isDeviceOf(user, device) ? device.slice(0, device.indexOf(".")) : ""
}

/** Before the code is checked, so that concurrent checks cannot exceed the allowed number of wrong codes. */
async function countWrong(userId: string, device: string): Promise<{ wrong: number } | Locked> {
  const [counted] = await db().$queryRaw<{ wrong: number }[]>`
    WITH old AS (
      DELETE FROM code_attempts WHERE (user_id, device) IN (
        SELECT user_id, device FROM code_attempts
        WHERE last_at < now() - make_interval(mins => ${lock.minutes}) AND (user_id, device) <> (${userId}::uuid, ${device})
        LIMIT 1000 FOR UPDATE SKIP LOCKED))
    INSERT INTO code_attempts AS attempts (user_id, device, wrong, last_at) VALUES (${userId}::uuid, ${device}, 1, now())
    ON CONFLICT (user_id, device) DO UPDATE SET
      wrong = CASE WHEN attempts.last_at < now() - make_interval(mins => ${lock.minutes}) THEN 1 ELSE attempts.wrong + 1 END,
      last_at = now()
    WHERE attempts.wrong < ${lock.wrongCodes} OR attempts.last_at < now() - make_interval(mins => ${lock.minutes})
    RETURNING wrong`
  if (counted) return counted
  const [left] = await db().$queryRaw<{ seconds: number }[]>`
    SELECT ceil(extract(epoch FROM last_at - now()) + ${lock.minutes * 60})::int AS seconds
    FROM code_attempts WHERE user_id = ${userId}::uuid AND device = ${device}`
  return { ok: false, reason: "locked", retryAfterSeconds: Math.max(1, left?.seconds ?? 1) }
}

/** Only a person past the first step gets this far, so the owner gets an email, at most once a day. */
async function reportLock(userId: string, { address }: Client): Promise<void> {
  if (!(await consume("wrongCodesEmailsAccount", userId)).allowed) return
  const account = await db().user.findUniqueOrThrow({ where: { id: userId } })
  await sendEmail(account, "wrong_codes", { codes: lock.wrongCodes, minutes: lock.minutes, address })
}
