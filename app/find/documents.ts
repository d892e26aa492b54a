import { searchDocuments } from "@/app/_shell/documents/search"
import type { Finding } from "@/app/_shell/findings"
import { holds } from "@/lib/permissions"
import type { Term } from "@/lib/platform/postgres/search"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"

const shown = 5

/** For viewers who cannot create admin keys, documents of the admin data API come only if there are no others. */
export async function findDocuments({ kind, value }: Term, viewer?: Pick<Viewer, "role">): Promise<Finding[]> {
  if (kind !== "text") return []
  const { found, isNear } = await searchDocuments(value)
  if (isNear) return []
  const { issuePermission } = kinds.admin
  const others = holds(viewer?.role ?? "", issuePermission) ? found : found.filter(({ surface }) => surface !== "admin")
  return (others.length > 0 ? others : found)
    .slice(0, shown)
    .map(({ title, place, href }) => ({ group: "Documents", label: title, note: place, href }))
}
