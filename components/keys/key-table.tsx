import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/id-links"
import { Day, None } from "@/components/list/cells"
import { SelectCell, selectHeading } from "@/components/list/selection"
import { Link } from "@/components/ui/link"
import { StatusBadge } from "@/components/ui/status-badge"
import { type Card, RowActions, RowButton, Table, TableCell, TableRow } from "@/components/ui/table"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import type { ListedKey } from "@/lib/keys/data"
import { keyStatus, type Problem, problems } from "@/lib/keys/health"
import type { Predecessor } from "@/lib/keys/predecessor"
import { limitsInWords, predecessorInWords, revocationInWords } from "@/lib/keys/words"
import { absoluteTime, plainDate } from "@/lib/platform/text/format-time"
import type { Surface } from "@/lib/surfaces"
import { KeyStart } from "./key-start"
import { obstacleTo, rowActionLabels, rowActions } from "./row-forms"

export type Owners = "hidden" | "ids" | "addresses"

type Shared = {
  owners: Owners
  offered: Readonly<Record<Surface, readonly string[]>>
  revocable: boolean
  selectable: boolean
  ownerId: string | undefined
  health: ReadonlyMap<string, readonly Problem[]>
  pageOf: (key: ListedKey) => string | undefined
  now: Date
}

export function KeyTable({ keys, caption, ...shared }: Shared & { keys: readonly ListedKey[]; caption: string }) {
  const { owners, revocable, selectable } = shared
  const columns = ["Key", ...(owners === "hidden" ? [] : ["Owner"]), "Status", "Created", "Last used", "Expires"]
  return (
    <Table
      caption={caption}
      headings={[
        ...(selectable ? [selectHeading] : []),
        ...columns.map((label) => ({ label })),
        ...(revocable ? [{ actions: "Actions" }] : []),
      ]}
      sticky={selectable}
    >
      {keys.map((key) => (
        <KeyRow key={key.id} listed={key} {...shared} />
      ))}
    </Table>
  )
}

function KeyRow({
  listed,
  owners,
  offered,
  revocable,
  selectable,
  ownerId,
  health,
  pageOf,
  now,
}: Shared & { listed: ListedKey }) {
  const { id, surface, name, start, state, createdAt, lastUsedAt, expiresAt, owner, predecessor } = listed
  const { revokedAt, revocationReason } = listed
  const status = keyStatus(listed, now)
  const limits = state === "active" && limitsInWords(listed, offered[surface])
  // The status says how a key ends, and that its owner is gone.
  const found = health.get(id) ?? []
  const marked = (problem: Problem, text: ReactNode) =>
    found.includes(problem) ? <span className="text-warn">{text}</span> : text
  const page = pageOf(listed)
  return (
    <TableRow data-state={state}>
      {selectable && <SelectCell id={id} name={state === "revoked" ? undefined : `${name}, ${start}…`} />}
      <th
        scope="row"
        aria-labelledby={`key-${id}`}
        data-card="first"
        className={`cell ${keyCellStyle} max-w-96 min-w-32 wrap-anywhere max-lg:whitespace-normal!`}
      >
        <span id={`key-${id}`} tabIndex={-1} data-opens className="font-medium max-lg:text-base">
          {page ? (
            <Link href={page} className="underline decoration-line underline-offset-2 hover:decoration-current">
              <Untrusted>{name}</Untrusted>
            </Link>
          ) : (
            <Untrusted>{name}</Untrusted>
          )}
        </span>
        <p className="text-xs text-muted max-lg:mt-0.5">
          <KeyStart>{start}</KeyStart>
          {/* In the narrowest table, a third line; the page of the key has them. */}
          {limits && <span className="lg:max-xl:hidden"> {limits}</span>}
        </p>
        {predecessor && state !== "revoked" && <Replaced predecessor={predecessor} revocable={revocable} now={now} />}
      </th>
      {owners !== "hidden" && (
        <Cell label="Owner" card="rest">
          <AccountLink id={owner.id} email={owners === "addresses" ? owner.email : undefined} />
        </Cell>
      )}
      <Cell label="Status" card="end">
        <div>
          <StatusBadge tone={status.tone}>{status.text}</StatusBadge>
          {found.includes("every_scope") && (
            <p className="text-xs whitespace-nowrap text-warn">{problems.every_scope}</p>
          )}
          {revokedAt && (
            <Line>
              {revocationReason && `${revocationInWords(listed)}, `}
              <RelativeTime date={revokedAt} now={now} />
            </Line>
          )}
          {page && revocationReason === "leaked" && (
            <Link href={`${page}/report`} className="text-xs text-accent underline">
              What it read
            </Link>
          )}
        </div>
      </Cell>
      <Cell label="Created" card="none">
        <Day at={createdAt.toISOString()} />
      </Cell>
      <Cell label="Last used" card="named">
        {lastUsedAt
          ? marked("unused", <RelativeTime date={lastUsedAt} now={now} />)
          : marked("never_used", problems.never_used)}
      </Cell>
      <Cell label="Expires" card="named">
        {revokedAt ? <None /> : expiresAt ? <RelativeTime date={expiresAt} now={now} /> : marked("no_expiry", "Never")}
      </Cell>
      {revocable && (
        <RowActions>
          {state === "active" &&
            rowActions
              .filter((action) => !obstacleTo(action, listed, owner.id === ownerId))
              .map((action) => (
                <RowButton
                  key={action}
                  danger={action === "revoke"}
                  name={action}
                  value={id}
                  aria-describedby={`key-${id}`}
                >
                  {rowActionLabels[action]}
                </RowButton>
              ))}
        </RowActions>
      )}
    </TableRow>
  )
}

function Replaced({ predecessor, revocable, now }: { predecessor: Predecessor; revocable: boolean; now: Date }) {
  const { id, start, expiresAt } = predecessor
  return (
    <p className="text-xs text-muted max-lg:mt-0.5">
      <span id={`key-${id}`} tabIndex={-1}>
        Replaces <KeyStart>{start}</KeyStart>, valid until{" "}
        <time dateTime={expiresAt.toISOString()} title={absoluteTime(expiresAt)}>
          {plainDate(expiresAt)}
        </time>
        ; {predecessorInWords(predecessor, now)}.
      </span>{" "}
      {revocable && (
        <button
          type="submit"
          name="revoke"
          value={id}
          aria-describedby={`key-${id}`}
          className="font-medium text-bad hover:underline max-lg:block max-lg:min-h-9"
        >
          Revoke old key
        </button>
      )}
    </p>
  )
}

const keyCellStyle = "text-muted group-data-[state=active]:text-ink"

function Cell({ label, card, children }: { label: string; card: Card; children: ReactNode }) {
  return (
    <TableCell label={label} card={card} className={keyCellStyle}>
      {children}
    </TableCell>
  )
}

function Line({ children }: { children: ReactNode }) {
  return <p className="text-xs text-muted">{children}</p>
}
