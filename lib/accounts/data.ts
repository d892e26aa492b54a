import { z } from "zod"
import { db } from "@/lib/postgres/prisma"

/** The addresses of accounts, by id; what is no account's id is left out. */
export async function emailsOf(ids: readonly string[]): Promise<Map<string, string>> {
  const known = await db().user.findMany({
    where: { id: { in: ids.filter(isUuid) } },
    select: { id: true, email: true },
  })
  return new Map(known.map(({ id, email }) => [id, email]))
}

function isUuid(text: string): boolean {
  return z.uuid().safeParse(text).success
}
