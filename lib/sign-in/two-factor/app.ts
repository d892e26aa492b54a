import { Secret, TOTP } from "otpauth"
import type { Pool } from "pg"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { product } from "@/lib/product"
import type { Viewer } from "../session-rows"
import { typedCode } from "../typed-code"
import { currentKeyId, decrypt, encrypt } from "./encryption"
import { type Added, addFactor, stepSeconds } from "./factors"

export const setupMinutes = 10

export type Setup = { secret: string; uri: string }

/** Nothing counts before a code confirms that the app has the secret. */
export async function startApp({ id, sessionId }: Viewer): Promise<void> {
  const { base32 } = new Secret({ size: 20 })
  await db().$executeRaw`
    UPDATE sessions
    SET app_secret = ${encrypt(base32, id)}, app_secret_until = now() + make_interval(mins => ${setupMinutes})
    WHERE id = ${sessionId}::uuid`
}

/** Only for a fresh viewer; no other session of the account sees the secret. */
export async function startedApp({ id, sessionId, email }: Viewer): Promise<Setup | undefined> {
  const secret = await startedSecret(id, sessionId)
  return secret === undefined ? undefined : { secret, uri: totpOf(secret, email).toString() }
}

async function startedSecret(userId: string, sessionId: string): Promise<string | undefined> {
  const [session] = await db().$queryRaw<{ encrypted: Uint8Array }[]>`
    SELECT app_secret AS encrypted FROM sessions
    WHERE id = ${sessionId}::uuid AND app_secret_until > now()`
  return session && decrypt(session.encrypted, userId)
}

export async function confirmApp(viewer: Viewer, typed: string): Promise<Added | { ok: false; reason: "wrong" }> {
  const secret = await startedSecret(viewer.id, viewer.sessionId)
  if (!secret) return { ok: false, reason: "expired" }
  const lastStep = stepOf(secret, typed)
  if (lastStep === undefined) return { ok: false, reason: "wrong" }
  return addFactor(viewer, "app", async (transaction) => {
    const { id: userId } = viewer
    const app = { secret: encrypt(secret, userId), lastStep, createdAt: new Date() }
    await transaction.authenticatorApp.upsert({ where: { userId }, create: { userId, ...app }, update: app })
    return "added"
  })
}

/** A used code cannot be used again, nor an older one. */
export async function consumeAppCode(userId: string, typed: string): Promise<boolean> {
  const app = await db().authenticatorApp.findUnique({ where: { userId } })
  if (!app) return false
  const secret = decrypt(app.secret, userId)
  if (secret === undefined) {
    log().error({ userId }, "app_secret_not_decrypted")
    return false
  }
  const step = stepOf(secret, typed)
  if (step === undefined) return false
  // The app may have been replaced in between.
  const { count } = await db().authenticatorApp.updateMany({
    where: { userId, createdAt: app.createdAt, lastStep: { lt: step } },
    data: { lastStep: step },
  })
  return count === 1
}

const batch = 1000

/** With the first secret of AUTH_SECRET. @returns the result in words */
export async function renewAppSecrets(database: Pool): Promise<string> {
  let [renewed, lost, after] = [0, 0, "00000000-0000-0000-0000-000000000000"]
  for (;;) {
    const { rows } = await database.query<{ userId: string; secret: Buffer }>(
      `SELECT user_id AS "userId", secret FROM authenticator_apps
       WHERE user_id > $1 AND substr(secret, 1, length($2::bytea)) <> $2 ORDER BY user_id LIMIT ${batch}`,
      [after, currentKeyId()],
    )
    const last = rows.at(-1)
    if (!last) break
    after = last.userId
    for (const { userId, secret } of rows) {
      const text = decrypt(secret, userId)
      if (text === undefined) {
        lost++
        continue
      }
      const { rowCount } = await database.query(
        "UPDATE authenticator_apps SET secret = $3 WHERE user_id = $1 AND secret = $2",
        [userId, secret, encrypt(text, userId)],
      )
      renewed += rowCount ?? 0
    }
  }
  if (lost > 0) log().error({ apps: lost }, "app_secrets_not_decrypted")
  return `${renewed} secrets of authenticator apps encrypted again`
}

export function isAppCode(typed: string): boolean {
  return /^[0-9]{6}$/.test(typedCode(typed))
}

/** Of 30 seconds: the current step, or the one before or after it. */
function stepOf(secret: string, typed: string): number | undefined {
  if (!isAppCode(typed)) return undefined
  const [totp, timestamp] = [totpOf(secret, ""), Date.now()]
  const delta = totp.validate({ token: typedCode(typed), window: 1, timestamp })
  return delta === null ? undefined : totp.counter({ timestamp }) + delta
}

function totpOf(secret: string, email: string): TOTP {
  return new TOTP({ issuer: product.name, label: email, secret, algorithm: "SHA1", digits: 6, period: stepSeconds })
}
