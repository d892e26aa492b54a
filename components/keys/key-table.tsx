import type { ReactNode } from "react"
import type { ListedKey } from "@/lib/keys/data"
import { relativeTime } from "@/lib/time-words"
import { Button } from "../button"
import { RelativeTime } from "../relative-time"
import { StatusBadge } from "../status-badge"
import { keyStatus } from "./key-status"

/** The keys of a page. On narrow screens each row is a card, whose cells bear their column's name. */
export function KeyTable({
  keys,
  caption,
  withOwner,
  now,
}: {
  keys: readonly ListedKey[]
  caption: string
  withOwner: boolean
  now: Date
}) {
  const columns = ["Name", "Key", ...(withOwner ? ["Owner"] : []), "Status", "Created", "Last used", "Expires"]
  return (
    <section
      aria-label={caption}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="md:overflow-x-auto md:rounded-lg md:border md:border-line md:bg-panel"
    >
      <table className="w-full border-separate border-spacing-0 text-left max-md:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="max-md:sr-only">
          <tr>
            {columns.map((column) => (
              <th
                key={column}
                scope="col"
                className="border-b border-line px-2 py-2 text-xs first:pl-4 font-medium text-muted"
              >
                {column}
              </th>
            ))}
            <th scope="col" className="border-b border-line">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody className="max-md:grid max-md:gap-3">
          {keys.map((key) => (
            <KeyRow key={key.id} listed={key} withOwner={withOwner} now={now} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function KeyRow({ listed, withOwner, now }: { listed: ListedKey; withOwner: boolean; now: Date }) {
  const { id, name, start, state, createdAt, lastUsedAt, expiresAt, owner } = listed
  const status = keyStatus(listed, now)
  return (
    <tr
      data-state={state}
      className="group max-md:grid max-md:gap-1.5 max-md:rounded-lg max-md:border max-md:border-line max-md:bg-panel max-md:p-3"
    >
      <th
        scope="row"
        id={`key-${id}`}
        tabIndex={-1}
        className={`${cellStyle} max-w-72 min-w-32 font-medium wrap-anywhere group-data-[state=active]:text-ink max-md:text-base`}
      >
        {name}
      </th>
      <Cell label="Key">
        <code className="font-mono text-[0.8125rem] whitespace-nowrap">{start}…</code>
      </Cell>
      {withOwner && (
        <Cell label="Owner">
          <span
            title={`${owner.name}, ${owner.email}`}
            className="max-md:wrap-anywhere md:block md:max-w-52 md:truncate"
          >
            {owner.email}
          </span>
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
      <td className={`${cellStyle} text-right md:pr-1.5`}>
        {state === "active" && (
          <Button
            kind="danger-quiet"
            type="submit"
            name="revoke"
            value={id}
            aria-describedby={`key-${id}`}
            data-name={name}
            data-start={start}
            data-used={lastUsedAt ? relativeTime(lastUsedAt, now) : ""}
            className="max-md:w-full max-md:border max-md:border-line md:h-7"
          >
            Revoke
          </Button>
        )}
      </td>
    </tr>
  )
}

const cellStyle =
  "align-middle text-muted group-data-[state=active]:text-ink md:h-11 md:px-2 md:py-1.5 md:first:pl-4 md:group-not-first:border-t md:group-not-first:border-line"

function Cell({ label, children }: { label: string; children: ReactNode }) {
  return (
    <td
      data-label={label}
      className={`${cellStyle} max-md:grid max-md:grid-cols-[6rem_minmax(0,1fr)] max-md:items-center max-md:justify-items-start max-md:before:text-muted max-md:before:content-[attr(data-label)]`}
    >
      {children}
    </td>
  )
}
