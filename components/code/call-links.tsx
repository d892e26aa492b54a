import { Link } from "@/components/ui/link"
import { type Documented, operationId } from "@/lib/api/documents/document"

/** Metered endpoints with links to their reference; nothing if there are none. */
export function CallLinks({ to }: { to: readonly Documented[] }) {
  if (to.length === 0) return null
  return (
    <ul aria-label="Metered calls" className="grid gap-1 text-muted">
      {to.map((endpoint) => (
        <li key={endpoint.path}>
          <Link href={`/docs/${endpoint.surface}#${operationId(endpoint)}`} className="py-1 text-accent underline">
            <code className="font-mono text-sm">{`${endpoint.method} ${endpoint.path}`}</code>
          </Link>
          : {endpoint.summary}.
        </li>
      ))}
    </ul>
  )
}
