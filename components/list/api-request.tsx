import { CopyField } from "@/components/ui/copy-field"
import { env } from "@/lib/env"
import { keyVariable } from "@/lib/product"
import { kinds } from "@/lib/surfaces"

export function ApiRequest({ path, query }: { path: string; query: URLSearchParams }) {
  const surface = path.startsWith(kinds.admin.api) ? "admin" : "user"
  const url = `${env().BASE_URL}${path}${query.size > 0 ? `?${query}` : ""}`
  return (
    <CopyField
      id="api-request"
      label={`Equivalent API request, with a key that starts with ${kinds[surface].prefix}`}
      value={`curl -H "Authorization: Bearer $${keyVariable}" "${url}"`}
      copy="Copy request"
    />
  )
}
