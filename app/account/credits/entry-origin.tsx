import { Link } from "@/components/link"
import { None, Text } from "@/components/list/cells"

/** What an entry was booked for: a run, whose link shows all of its entries, an order, or what its reason says. */
export function EntryOrigin({
  runId,
  orderId,
  reason,
  page,
}: {
  runId: string | null
  orderId: string | null
  reason: string | null
  page: string
}) {
  if (runId !== null) {
    return (
      <Link
        href={`${page}?runId=${runId}`}
        title={runId}
        className="whitespace-nowrap underline decoration-line underline-offset-2 hover:decoration-current"
      >
        Run <ShortId of={runId} />
      </Link>
    )
  }
  if (orderId !== null) {
    return (
      <span title={orderId} className="whitespace-nowrap">
        Order <ShortId of={orderId} />
      </span>
    )
  }
  return reason === null ? <None /> : <Text>{reason}</Text>
}

/** Ids begin with their time: the end tells neighbours apart. */
function ShortId({ of }: { of: string }) {
  return <code className="font-mono text-xs">…{of.slice(-12)}</code>
}
