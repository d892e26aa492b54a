import type { User } from "@/generated/prisma/client"
import { usageDays } from "@/lib/keys/choices"
import type { ListedKey } from "@/lib/keys/data"
import { inTurn } from "@/lib/platform/queues/turns"
import { byteOrderMark, csvLine } from "@/lib/platform/text/csv"
import { absoluteTime } from "@/lib/platform/text/format-time"
import { findKeyActivity, type KeyActivity } from "./key-activity"

export type KeyReport = KeyActivity & {
  key: ListedKey
  /** `null` if no request was ever logged, or its log is not kept. */
  completeFrom: Date | null
  isSinceCreation: boolean
  isDeleted: boolean
  /** The key was used after the last logged request, as when the log was off. */
  isLastUseMissing: boolean
  isTruncated: boolean
}

/** Takes up to half a second, so it waits for the reader's turn. @throws TooManyWaiting */
export async function keyReportOf(key: ListedKey, { id: reader }: Pick<User, "id">): Promise<KeyReport> {
  const reach = await inTurn(reader, "request", () => findKeyActivity(key.id))
  return {
    ...reach,
    ...completenessOf(key, reach),
    key,
    isTruncated: reach.entries.length < reach.total.entries,
  }
}

// The last use is recorded at most once a minute, and before its request is logged.
const toleranceMs = 60_000

export function completenessOf(
  {
    createdAt,
    lastUsedAt,
    revokedAt,
    expiresAt,
  }: Pick<ListedKey, "createdAt" | "lastUsedAt" | "revokedAt" | "expiresAt">,
  {
    readAt,
    logStartedAt,
    total: { lastAt },
  }: Pick<KeyActivity, "readAt" | "logStartedAt"> & { total: Pick<KeyActivity["total"], "lastAt"> },
): Pick<KeyReport, "completeFrom" | "isSinceCreation" | "isDeleted" | "isLastUseMissing"> {
  const keptFrom = readAt.getTime() - usageDays * 86_400_000
  const isDeleted = [revokedAt, expiresAt].some((ended) => ended !== null && ended.getTime() < keptFrom)
  if (isDeleted) return { completeFrom: null, isSinceCreation: false, isDeleted, isLastUseMissing: lastUsedAt !== null }
  const isSinceCreation = logStartedAt !== null && createdAt >= logStartedAt
  const completeFrom = isSinceCreation ? createdAt : logStartedAt
  const isLater = lastUsedAt !== null && lastUsedAt.getTime() > (lastAt ?? createdAt).getTime() + toleranceMs
  const isLastUseMissing = isLater && completeFrom !== null && lastUsedAt > completeFrom
  return { completeFrom, isSinceCreation, isDeleted, isLastUseMissing }
}

export function completenessInWords({
  completeFrom,
  isSinceCreation,
  readAt,
  unlogged,
}: Pick<KeyReport, "isSinceCreation" | "readAt" | "unlogged"> & { completeFrom: Date }): string {
  const requests = unlogged === 1 ? "1 request that was" : `${unlogged.toLocaleString("en")} requests that were`
  const missing = unlogged > 0 ? `, except for ${requests} not logged` : ""
  const start = isSinceCreation
    ? "It starts when the key was created."
    : "It starts with the log, and the key is older."
  return `Complete from ${absoluteTime(completeFrom)} to ${absoluteTime(readAt)}${missing}. ${start}`
}

export const reportFormats = {
  json: { type: "application/json; charset=utf-8", write: jsonOf },
  csv: { type: "text/csv; charset=utf-8", write: (report) => byteOrderMark + csvOf(report) },
} as const satisfies Record<string, { type: string; write: (report: KeyReport) => string }>

export type ReportFormat = keyof typeof reportFormats

export function isReportFormat(name: string): name is ReportFormat {
  return Object.hasOwn(reportFormats, name)
}

export function fileNameOf({ key, readAt }: KeyReport, format: ReportFormat): string {
  return `key-report-${key.start}-${readAt.toISOString().slice(0, 10)}.${format}`
}

function jsonOf({ key, readAt, total, routes, addresses, entries, ...report }: KeyReport): string {
  const { id, name, start, surface, createdAt, lastUsedAt, expiresAt, revokedAt, revocationReason, owner } = key
  const { completeFrom, isSinceCreation, isLastUseMissing, unlogged, isTruncated } = report
  const body = {
    key: { id, name, start, surface, ownerId: owner.id, createdAt, lastUsedAt, expiresAt, revokedAt, revocationReason },
    completeFrom,
    completeTo: readAt,
    isSinceCreation,
    isLastUseMissing,
    unlogged,
    total,
    routes,
    addresses,
    entries,
    isTruncated,
  }
  return `${JSON.stringify(body, null, 2)}\n`
}

function csvOf({ key, completeFrom, readAt, isLastUseMissing, unlogged, isTruncated, entries }: KeyReport): string {
  const columns = {
    key_id: key.id,
    key_name: key.name,
    complete_from: completeFrom,
    complete_to: readAt,
    last_use_missing: String(isLastUseMissing),
    unlogged,
    truncated: String(isTruncated),
  }
  const header = [...Object.keys(columns), "endpoint", "address", "requests", "errors", "rows", "first_at", "last_at"]
  const lines = entries.map(({ route, address, requests, errors, rows, firstAt, lastAt }) => [
    ...Object.values(columns),
    ...[route, address, requests, errors, rows, firstAt, lastAt],
  ])
  return [header, ...lines].map(csvLine).join("")
}
