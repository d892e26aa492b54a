import { StatusBadge, type Tone } from "@/components/status-badge"

/** The endpoint of a request, with the names of the parameters that it had. */
export function Request({
  method,
  route,
  parameters = [],
}: {
  method: string
  route: string
  parameters?: readonly string[]
}) {
  return (
    <code className="font-mono text-xs wrap-anywhere">
      {method} {route}
      {parameters.length > 0 && <span className="text-muted">?{parameters.join("&")}</span>}
    </code>
  )
}

/** The status of a response, with the code of an error. */
export function ResponseStatus({ status, code }: { status: number; code: string | null }) {
  return <StatusBadge tone={toneOf(status)}>{code === null ? String(status) : `${status} ${code}`}</StatusBadge>
}

function toneOf(status: number): Tone {
  if (status >= 500) return "bad"
  return status >= 400 ? "warn" : "good"
}
