import { randomInt } from "node:crypto"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts, lockViewer } from "@/lib/authority/authority"
import { sendEmail } from "@/lib/platform/email/send"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { hashOf } from "../link-token"
import type { Viewer } from "../session-rows"
import { typedCode } from "../typed-code"

export const recoveryCodeCount = 10

// Without i, l, o and u, which are mistaken for others. A code has 24 of 32 characters, which are 120 bits.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** The codes are returned once; their hashes are stored. */
export async function writeRecoveryCodes(transaction: Transaction, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newCode)
  await transaction.recoveryCode.deleteMany({ where: { userId } })
  await transaction.recoveryCode.createMany({ data: codes.map((code) => ({ userId, hash: hashOf(plain(code)) })) })
  return codes
}

function newCode(): string {
  const group = () => Array.from({ length: 6 }, () => alphabet[randomInt(alphabet.length)]).join("")
  return [group(), group(), group(), group()].join("-")
}

/** Letters that no code has stand for the digits that they look like. */
function plain(typed: string): string {
  return typedCode(typed).replaceAll("o", "0").replaceAll(/[il]/g, "1")
}

export function isRecoveryCode(typed: string): boolean {
  return new RegExp(`^[${alphabet}]{24}$`).test(plain(typed))
}

export function replaceRecoveryCodes(viewer: Viewer): Promise<string[] | undefined> {
  const { id: userId } = viewer
  return db().$transaction(async (transaction) => {
    if (!(await lockViewer(transaction, viewer))) return undefined
    const { twoFactor } = await transaction.user.findUniqueOrThrow({ where: { id: userId } })
    if (!twoFactor) return undefined
    const entry = { actorId: userId, targetType: "user", targetId: userId } as const
    await audit(transaction, { ...entry, action: "user.recovery_codes_replaced" })
    return writeRecoveryCodes(transaction, userId)
  })
}

/** Returns the email that reports it, to be sent after the response; undefined if the code is wrong. */
export function consumeRecoveryCode(userId: string, typed: string): Promise<(() => Promise<void>) | undefined> {
  return db().$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, idIn(userId))
    const used = await transaction.recoveryCode.deleteMany({ where: { userId, hash: hashOf(plain(typed)) } })
    if (!account || used.count === 0) return undefined
    const entry = { actorId: userId, targetType: "user", targetId: userId } as const
    await audit(transaction, { ...entry, action: "user.recovery_code_used" })
    const left = await transaction.recoveryCode.count({ where: { userId } })
    return async () => {
      await sendEmail(account, "recovery_code_used", { left })
    }
  })
}
