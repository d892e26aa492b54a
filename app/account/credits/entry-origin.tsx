import { None, Text } from "@/components/list/cells"
import { Link } from "@/components/ui/link"

export const entriesPage = "/account/credits/entries"

export function EntryOrigin({
  runId,
  orderId,
  reason,
}: {
  runId: string | null
  orderId: string | null
  reason: string | null
}) {
  if (runId !== null) {
    return (
      <Link
        href={`${entriesPage}?runId=${runId}`}
        title={runId}
        className="truncate underline decoration-line underline-offset-2 hover:decoration-current"
      >
        Run <ShortId value={runId} />
      </Link>
    )
  }
  if (orderId !== null) {
    return (
      <span title={orderId} className="truncate">
        Order <ShortId value={orderId} />
      </span>
    )
  }
  return reason === null ? <None /> : <Text>{reason}</Text>
}

/** Ids start with a timestamp, so only the last characters distinguish ids of the same time. */
function ShortId({ value }: { value: string }) {
  return <code className="font-mono text-xs">…{value.slice(-12)}</code>
}
