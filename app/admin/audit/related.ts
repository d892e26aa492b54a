import { sectionsFor } from "@/app/_shell/sections"
import { emailsOf } from "@/lib/accounts/addresses"
import { namedKeys } from "@/lib/keys/data"
import { holds } from "@/lib/permissions"
import type { Viewer } from "@/lib/sign-in/browser-session"

type Row = { targetType: string; targetId: string; details?: unknown }

export type Related = {
  keys: Awaited<ReturnType<typeof namedKeys>>
  owners: ReadonlyMap<string, string>
  pages: ReadonlyMap<string, string>
}

export async function relate(rows: readonly Row[], viewer: Viewer): Promise<Related> {
  const targets = rows.flatMap(({ targetType, targetId }) => (targetType === "api_key" ? [targetId] : []))
  const [keys, owners] = await Promise.all([
    namedKeys([...targets, ...detailsNamed("successorId", rows)], viewer),
    holds(viewer.role, "users.read") ? emailsOf(detailsNamed("ownerId", rows)) : new Map<string, string>(),
  ])
  const entries = (await sectionsFor("admin", viewer.role)).flatMap(({ entries }) => entries)
  const pages = new Map(entries.flatMap(({ finds, href }) => (finds ? [[finds, href] as const] : [])))
  return { keys, owners, pages }
}

function detailsNamed(name: string, rows: readonly Row[]): string[] {
  const values = rows.map(({ details }) => (details as Record<string, unknown> | null)?.[name])
  return [...new Set(values.filter((value) => typeof value === "string"))]
}
