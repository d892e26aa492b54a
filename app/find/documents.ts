import type { Finding } from "@/app/_shell/findings"
import { endpoints } from "@/app/api/v1/endpoints"
import { operationId } from "@/lib/api/documents/document"
import { errors } from "@/lib/api/errors"
import type { Term } from "@/lib/platform/postgres/search"

const shown = 5

export async function findDocuments({ kind, value }: Term): Promise<Finding[]> {
  if (kind !== "text") return []
  const words = value.toLowerCase().split(" ")
  const found = (await documents()).filter(({ label, note }) => {
    const text = `${label} ${note}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return found.slice(0, shown).map((document) => ({ group: "Documents", ...document }))
}

async function documents() {
  return [
    ...(await endpoints()).map((endpoint) => ({
      label: `${endpoint.method} ${endpoint.path}`,
      note: endpoint.summary,
      href: `/docs/${endpoint.surface}#${operationId(endpoint)}`,
    })),
    ...Object.entries(errors).map(([code, { meaning }]) => ({ label: code, note: meaning, href: "/docs#errors" })),
  ]
}
