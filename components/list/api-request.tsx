import { CopyField } from "@/components/copy-field"
import { env } from "@/lib/env"

/** The request that answers with what is on screen. */
export function ApiRequest({ path, query }: { path: string; query: URLSearchParams }) {
  const url = `${env().BASE_URL}${path}${query.size > 0 ? `?${query}` : ""}`
  return (
    <CopyField
      id="api-request"
      label="The same as an API request"
      value={`curl -H "Authorization: Bearer $TSK_KEY" "${url}"`}
      copy="Copy request"
    />
  )
}
