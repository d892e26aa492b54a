import { z } from "zod"
import { db } from "@/lib/postgres/prisma"

/** Email addresses by account id. An id without an account is omitted. */
export async function emailsOf(ids: readonly string[]): Promise<Map<string, string>> {
  const accounts = await db().user.findMany({
    where: { id: { in: ids.filter(isUuid) } },
    select: { id: true, email: true },
  })
  return new Map(accounts.map(({ id, email }) => [id, email]))
}

function isUuid(text: string): boolean {
  return z.uuid().safeParse(text).success
}
