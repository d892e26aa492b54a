import type { ReactNode } from "react"
import type { ListedKey } from "@/lib/keys/data"
import { Button } from "../button"
import { AccountLink } from "../console/cells"
import { RelativeTime } from "../relative-time"
import { StatusBadge } from "../status-badge"
import { cellStyle, Table, TableCell, TableRow } from "../table"
import { keyStatus } from "./key-status"

/** How the owners of the keys are named. */
export type Owners = "hidden" | "ids" | "addresses"

/** On narrow screens, each row is a card whose cells show the name of their column. */
export function KeyTable({
  keys,
  caption,
  owners,
  revocable,
  now,
}: {
  keys: readonly ListedKey[]
  caption: string
  owners: Owners
  revocable: boolean
  now: Date
}) {
  const labels = ["Name", "Key", ...(owners === "hidden" ? [] : ["Owner"]), "Status", "Created", "Last used", "Expires"]
  return (
    <Table
      caption={caption}
      headings={[...labels.map((label) => ({ label })), ...(revocable ? [{ actions: "Actions" }] : [])]}
    >
      {keys.map((key) => (
        <KeyRow key={key.id} listed={key} owners={owners} revocable={revocable} now={now} />
      ))}
    </Table>
  )
}

function KeyRow({
  listed,
  owners,
  revocable,
  now,
}: {
  listed: ListedKey
  owners: Owners
  revocable: boolean
  now: Date
}) {
  const { id, name, start, state, createdAt, lastUsedAt, expiresAt, owner } = listed
  const status = keyStatus(listed, now)
  return (
    <TableRow data-state={state}>
      <th
        scope="row"
        id={`key-${id}`}
        tabIndex={-1}
        className={`${cellStyle} ${keyCellStyle} max-w-72 min-w-32 font-medium wrap-anywhere max-lg:text-base`}
      >
        {name}
      </th>
      <Cell label="Key">
        <code className="font-mono text-[0.8125rem] whitespace-nowrap">{start}…</code>
      </Cell>
      {owners !== "hidden" && (
        <Cell label="Owner">
          <AccountLink id={owner.id} email={owners === "addresses" ? owner.email : undefined} />
        </Cell>
      )}
      <Cell label="Status">
        <StatusBadge tone={status.tone}>{status.text}</StatusBadge>
      </Cell>
      <Cell label="Created">
        <RelativeTime date={createdAt} now={now} />
      </Cell>
      <Cell label="Last used">{lastUsedAt ? <RelativeTime date={lastUsedAt} now={now} /> : "Never used"}</Cell>
      <Cell label="Expires">{expiresAt ? <RelativeTime date={expiresAt} now={now} /> : "Never"}</Cell>
      {revocable && (
        <td className={`${cellStyle} text-right lg:pr-1.5`}>
          {state === "active" && (
            <Button
              kind="danger-quiet"
              type="submit"
              name="revoke"
              value={id}
              aria-describedby={`key-${id}`}
              className="max-lg:w-full max-lg:border max-lg:border-line lg:h-7"
            >
              Revoke
            </Button>
          )}
        </td>
      )}
    </TableRow>
  )
}

const keyCellStyle = "text-muted group-data-[state=active]:text-ink"

function Cell({ label, children }: { label: string; children: ReactNode }) {
  return (
    <TableCell label={label} className={keyCellStyle}>
      {children}
    </TableCell>
  )
}
