import { Link } from "@/components/link"
import { Count, None } from "@/components/list/cells"
import { Outcome, Request } from "@/components/list/request-cells"
import { RelativeTime } from "@/components/relative-time"
import { Table, TableCell, TableRow } from "@/components/table"
import { type Failure, latestFailures } from "@/lib/request-log/of-key"

/** How the latest requests failed, what that means, and a link to them. */
export function Failures({ failures, page, now }: { failures: readonly Failure[]; page: string; now: Date }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div>
        <h2 className="text-base font-semibold">Recent failures</h2>
        {failures.length > 0 && <p className="text-muted">Of the last {latestFailures} failed requests.</p>}
      </div>
      {failures.length === 0 ? (
        <p className="text-muted">No failed requests in the log.</p>
      ) : (
        <Table
          caption="Recent failures"
          headings={[
            { label: "Status" },
            { label: "Request" },
            { label: "Count", numeric: true },
            { label: "Last" },
            { label: "Last IP address" },
          ]}
        >
          {failures.map((failure) => (
            <FailureRow key={keyOf(failure)} failure={failure} page={page} now={now} />
          ))}
        </Table>
      )}
    </div>
  )
}

function FailureRow({ failure, page, now }: { failure: Failure; page: string; now: Date }) {
  const { method, route, status, code, count, lastAt, lastAddress } = failure
  return (
    <TableRow>
      <TableCell label="Status" names className="lg:max-w-96">
        <Outcome status={status} code={code} />
      </TableCell>
      <TableCell label="Request">
        <Link
          href={`${page}?${new URLSearchParams({ status: String(status), route })}`}
          className="underline decoration-line underline-offset-2 hover:decoration-current"
        >
          <Request method={method} route={route} />
        </Link>
      </TableCell>
      <TableCell label="Count" numeric>
        <Count value={count} />
      </TableCell>
      <TableCell label="Last">
        <RelativeTime date={lastAt} now={now} />
      </TableCell>
      <TableCell label="Last IP address">{lastAddress ?? <None />}</TableCell>
    </TableRow>
  )
}

function keyOf({ method, route, status, code }: Failure): string {
  return [method, route, status, code].join(" ")
}
