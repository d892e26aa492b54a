import { searchDocuments } from "@/app/_shell/documents/search"
import type { Finding } from "@/app/_shell/findings"
import type { Term } from "@/lib/platform/postgres/search"

const shown = 5

export async function findDocuments({ kind, value }: Term): Promise<Finding[]> {
  if (kind !== "text") return []
  const { found, isNear } = await searchDocuments(value)
  if (isNear) return []
  return found
    .slice(0, shown)
    .map(({ title, place, href }) => ({ group: "Documents", label: title, note: place, href }))
}
