import { Moment, None } from "@/components/list/cells"
import { EmptyState } from "@/components/ui/empty-state"
import { TableCell, TableRow } from "@/components/ui/table"
import { Untrusted } from "@/components/values/untrusted"
import type { Activity } from "@/lib/sign-in/activity"
import { FoldedTable } from "./folded-table"

export function RecentActivity({ entries }: { entries: readonly Activity[] }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 className="text-base font-semibold">Recent activity</h2>
      {entries.length === 0 ? (
        <EmptyState title="No activity yet" />
      ) : (
        <FoldedTable
          caption="Recent activity"
          others="Earlier activity"
          headings={[{ label: "Activity" }, { label: "IP address" }, { label: "Time (UTC)" }]}
          rows={entries.map(({ id, sentence, address, createdAt }) => (
            <TableRow key={id}>
              <TableCell label="Activity" names className="wrap-anywhere">
                <Untrusted>{sentence}</Untrusted>
              </TableCell>
              <TableCell label="IP address" className="text-muted">
                {address ?? <None />}
              </TableCell>
              <TableCell label="Time (UTC)" className="text-muted">
                <Moment at={createdAt.toISOString()} />
              </TableCell>
            </TableRow>
          ))}
        />
      )}
    </div>
  )
}
