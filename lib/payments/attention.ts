import { db } from "@/lib/platform/postgres/prisma"
import { safeUrl } from "@/lib/purchases/provider-objects"
import { isKind, sentenceOf } from "./differences"

const shown = 50

/** For staff: payments and subscriptions that need a person, work that waits, and the last comparison with the provider. */
export async function findAttention() {
  const [objects, requests, events, comparison] = await Promise.all([
    db().providerObject.findMany({ where: { problem: { not: null } }, orderBy: { updatedAt: "desc" }, take: shown }),
    db().providerRequest.findMany({ where: { doneAt: null }, orderBy: { createdAt: "asc" }, take: shown }),
    db().providerEvent.findMany({ where: { bookedAt: null }, orderBy: { receivedAt: "asc" }, take: shown }),
    db().providerReconciliation.findFirst(),
  ])
  const differences = objects.map(({ id, kind, userId, url, problem, updatedAt }) => ({
    ...{ id, userId, updatedAt, url: url && safeUrl(url) },
    sentence: isKind(problem) ? sentenceOf(kind === "payment" ? "A payment" : "A subscription", { kind: problem }) : "",
  }))
  return { differences, requests, events, comparison }
}
