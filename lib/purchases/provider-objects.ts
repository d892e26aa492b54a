import type { ProviderObjectKind } from "@/generated/prisma/enums"
import { db } from "@/lib/platform/postgres/prisma"
import { isUuid } from "@/lib/platform/schemas/text"

/** A payment or subscription at a provider, for staff. `url` is of its dashboard. */
export type AtProvider = { id: string; url: string | null }

/** @param ids of our orders or subscriptions */
export async function atProvider(
  kind: ProviderObjectKind,
  ids: readonly string[],
): Promise<ReadonlyMap<string, AtProvider>> {
  const own = kind === "payment" ? "orderId" : "subscriptionId"
  const found = await db().providerObject.findMany({
    where: { kind, [own]: { in: [...ids] } },
    select: { id: true, url: true, orderId: true, subscriptionId: true },
  })
  return new Map(found.map(({ id, url, ...object }) => [object[own] ?? "", { id, url: url && safeUrl(url) }]))
}

const dashboards = ["dashboard.stripe.com"]
const loopbacks = ["localhost", "127.0.0.1", "[::1]"]

/** The stored address is followed by staff, so it leads to a known dashboard or to the stand-in of this machine. */
export function safeUrl(url: string): string | null {
  const { protocol, hostname, username, port, href } = URL.parse(url) ?? {}
  if (!href || username) return null
  if (protocol === "https:" && port === "" && dashboards.includes(hostname ?? "")) return href
  return protocol === "http:" && loopbacks.includes(hostname ?? "") ? href : null
}

/** For the forms of staff. */
export function findOrder(id: string) {
  return isUuid(id) ? db().order.findUnique({ where: { id } }) : null
}

/** For the forms of staff. */
export function findSubscription(id: string) {
  return isUuid(id) ? db().subscription.findUnique({ where: { id } }) : null
}
