import type { ReactNode } from "react"
import type { MeteredEndpoint } from "@/app/api/v1/endpoints"
import { CodePanel } from "@/components/code/code-panel"
import { readableJson } from "@/components/code/readable-json"
import { exampleBody } from "@/lib/api/documents/document"

/** For work without a sample. Without any metered work, only the heading is left. */
export function RecordedCall({
  endpoint,
  heading,
  children,
}: {
  endpoint: MeteredEndpoint | undefined
  heading: ReactNode
  children: ReactNode
}) {
  return (
    <>
      <div className="grid min-w-0 content-start gap-6">
        {heading}
        {endpoint && (
          <CodePanel
            title={`${endpoint.method} ${endpoint.path}`}
            code={readableJson(exampleBody(endpoint))}
            language="json"
          />
        )}
        {children}
      </div>
      {endpoint?.example !== undefined && (
        <CodePanel title="Recorded response" code={readableJson(endpoint.example)} language="json" surface="user" />
      )}
    </>
  )
}
