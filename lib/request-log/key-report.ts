import type { User } from "@/generated/prisma/client"
import { usageDays } from "@/lib/keys/choices"
import type { ListedKey } from "@/lib/keys/data"
import { inTurn } from "@/lib/platform/queues/turns"
import { byteOrderMark, csvLine } from "@/lib/platform/text/csv"
import { absoluteTime } from "@/lib/platform/text/format-time"
import { findKeyActivity, type KeyActivity } from "./key-activity"

/** What a key did, and for which time that is everything. */
export type KeyReport = KeyActivity & {
  key: ListedKey
  /** From when on every request is counted; `null` if none was ever logged, or what was logged is not kept. */
  completeFrom: Date | null
  isSinceCreation: boolean
  /** Whether the key ended so long ago that what it did is not kept. */
  isDeleted: boolean
  /** Whether the key was used after the last logged request, as when the log was off. */
  isLastUseMissing: boolean
  /** Whether there are more entries than are listed. */
  isTruncated: boolean
}

/**
 * Reads the report of a key, which can take half a second, when it is its reader's turn.
 * @throws TooManyWaiting
 */
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

/** Since when the log has every request with a key, except those that it counts as unlogged. */
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

/** "Complete from 1 May 2026, 12:00 UTC to …, except for 3 requests that were not logged. It starts when …" */
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

/** The name of the file, with the start of the key and the day (UTC) of the report. */
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

/** A row for each endpoint and address. */
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
