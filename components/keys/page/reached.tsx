import { Count } from "@/components/list/cells"
import { Table, TableCell, TableRow } from "@/components/table"
import { absoluteTime } from "@/lib/platform/text/format-time"
import type { ReachEntry, ReachedAddress, ReachedRoute } from "@/lib/request-log/key-activity"

const numbers = [
  { label: "Requests", numeric: true },
  { label: "Failed", numeric: true },
  { label: "Rows", numeric: true },
]

const times = [{ label: "First" }, { label: "Last" }]

/** What was requested of each endpoint. @param summaries what each endpoint returns, by path */
export function Routes({
  routes,
  summaries,
}: {
  routes: readonly ReachedRoute[]
  summaries: ReadonlyMap<string, string>
}) {
  return (
    <Table
      caption="What it read"
      headings={[{ label: "Endpoint" }, ...numbers, { label: "IP addresses", numeric: true }, ...times]}
    >
      {routes.map(({ route, addresses, ...reached }) => (
        <TableRow key={route}>
          <TableCell label="Endpoint" names>
            <div>
              <code className="font-mono text-xs wrap-anywhere">{route}</code>
              <p className="text-xs text-muted">{summaries.get(route)}</p>
            </div>
          </TableCell>
          <Numbers {...reached} />
          <TableCell label="IP addresses" numeric>
            <Count value={addresses} />
          </TableCell>
          <Times {...reached} />
        </TableRow>
      ))}
    </Table>
  )
}

/** What was requested from each address. */
export function Addresses({ addresses }: { addresses: readonly ReachedAddress[] }) {
  return (
    <Table
      caption="IP addresses"
      headings={[{ label: "IP address" }, ...numbers, { label: "Endpoints", numeric: true }, ...times]}
    >
      {addresses.map(({ address, routes, ...reached }) => (
        <TableRow key={address}>
          <TableCell label="IP address" names>
            <code className="font-mono text-xs">{address}</code>
          </TableCell>
          <Numbers {...reached} />
          <TableCell label="Endpoints" numeric>
            <Count value={routes} />
          </TableCell>
          <Times {...reached} />
        </TableRow>
      ))}
    </Table>
  )
}

/** What was requested of each endpoint from each address. */
export function Entries({ entries }: { entries: readonly ReachEntry[] }) {
  return (
    <Table
      caption="Endpoints by IP address"
      headings={[{ label: "Endpoint" }, { label: "IP address" }, ...numbers, ...times]}
    >
      {entries.map(({ route, address, ...reached }) => (
        <TableRow key={`${route} ${address}`}>
          <TableCell label="Endpoint" names>
            <code className="font-mono text-xs wrap-anywhere">{route}</code>
          </TableCell>
          <TableCell label="IP address">
            <code className="font-mono text-xs">{address}</code>
          </TableCell>
          <Numbers {...reached} />
          <Times {...reached} />
        </TableRow>
      ))}
    </Table>
  )
}

function Numbers({ requests, errors, rows }: Pick<ReachEntry, "requests" | "errors" | "rows">) {
  return [requests, errors, rows].map((count, index) => (
    <TableCell key={numbers[index]?.label} label={numbers[index]?.label ?? ""} numeric>
      <Count value={count} />
    </TableCell>
  ))
}

function Times({ firstAt, lastAt }: Pick<ReachEntry, "firstAt" | "lastAt">) {
  return (
    <>
      <TableCell label="First">
        <span className="whitespace-nowrap">{absoluteTime(firstAt)}</span>
      </TableCell>
      <TableCell label="Last">
        <span className="whitespace-nowrap">{absoluteTime(lastAt)}</span>
      </TableCell>
    </>
  )
}
