import { CopyField } from "@/components/copy-field"
import { env } from "@/lib/env"
import { keyVariable } from "@/lib/product"

/** The API request that returns the rows on screen. */
export function ApiRequest({ path, query }: { path: string; query: URLSearchParams }) {
  const url = `${env().BASE_URL}${path}${query.size > 0 ? `?${query}` : ""}`
  return (
    <CopyField
      id="api-request"
      label="Equivalent API request"
      value={`curl -H "Authorization: Bearer $${keyVariable}" "${url}"`}
      copy="Copy request"
    />
  )
}
