import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/id-links"
import { None } from "@/components/list/cells"
import { Button } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { StatusBadge } from "@/components/ui/status-badge"
import { cellStyle, Table, TableCell, TableRow } from "@/components/ui/table"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import type { ListedKey } from "@/lib/keys/data"
import { keyStatus, type Problem, problems } from "@/lib/keys/health"
import type { Predecessor } from "@/lib/keys/predecessor"
import { limitsInWords, predecessorInWords, revocationInWords } from "@/lib/keys/words"
import { absoluteTime } from "@/lib/platform/text/format-time"
import type { Surface } from "@/lib/surfaces"
import { KeyStart } from "./key-start"
import { obstacleTo, rowActionLabels, rowActions } from "./row-forms"

export type Owners = "hidden" | "ids" | "addresses"

type Shared = {
  owners: Owners
  offered: Readonly<Record<Surface, readonly string[]>>
  revocable: boolean
  ownerId: string | undefined
  health: ReadonlyMap<string, readonly Problem[]>
  pageOf: (key: ListedKey) => string | undefined
  now: Date
}

export function KeyTable({ keys, caption, ...shared }: Shared & { keys: readonly ListedKey[]; caption: string }) {
  const { owners, revocable } = shared
  const columns = ["Key", ...(owners === "hidden" ? [] : ["Owner"]), "Status", "Created", "Last used", "Expires"]
  return (
    <Table
      caption={caption}
      headings={[...columns.map((label) => ({ label })), ...(revocable ? [{ actions: "Actions" }] : [])]}
    >
      {keys.map((key) => (
        <KeyRow key={key.id} listed={key} {...shared} />
      ))}
    </Table>
  )
}

function KeyRow({ listed, owners, offered, revocable, ownerId, health, pageOf, now }: Shared & { listed: ListedKey }) {
  const { id, surface, name, start, state, createdAt, lastUsedAt, expiresAt, owner, predecessor } = listed
  const { revokedAt, revocationReason } = listed
  const status = keyStatus(listed, now)
  const limits = state === "active" && limitsInWords(listed, offered[surface])
  // Its status says how it ends.
  const found = (health.get(id) ?? []).filter((problem) => problem !== "expired" && problem !== "expiring")
  const page = pageOf(listed)
  return (
    <TableRow data-state={state}>
      <th
        scope="row"
        aria-labelledby={`key-${id}`}
        className={`${cellStyle} ${keyCellStyle} max-w-96 min-w-32 font-normal max-lg:basis-full wrap-anywhere`}
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
        <Line>
          <KeyStart>{start}</KeyStart>
          {limits && ` · ${limits}`}
        </Line>
        {found.length > 0 && (
          <p className="text-xs text-warn">{found.map((problem) => problems[problem]).join(" · ")}</p>
        )}
        {predecessor && state !== "revoked" && <Replaced predecessor={predecessor} revocable={revocable} now={now} />}
      </th>
      {owners !== "hidden" && (
        <Cell label="Owner">
          <AccountLink id={owner.id} email={owners === "addresses" ? owner.email : undefined} />
        </Cell>
      )}
      <Cell label="Status">
        <div>
          <StatusBadge tone={status.tone}>{status.text}</StatusBadge>
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
      <Cell label="Created">
        <RelativeTime date={createdAt} now={now} />
      </Cell>
      <Cell label="Last used">{lastUsedAt ? <RelativeTime date={lastUsedAt} now={now} /> : "Never used"}</Cell>
      <Cell label="Expires">
        {revokedAt ? <None /> : expiresAt ? <RelativeTime date={expiresAt} now={now} /> : "Never"}
      </Cell>
      {revocable && (
        <td className={`${cellStyle} max-lg:basis-full lg:pr-1.5`}>
          {state === "active" && (
            <div className="flex gap-1.5 lg:justify-end lg:gap-0">
              {rowActions
                .filter((action) => !obstacleTo(action, listed, owner.id === ownerId))
                .map((action) => (
                  <Button
                    key={action}
                    kind={action === "revoke" ? "danger-quiet" : "quiet"}
                    type="submit"
                    name={action}
                    value={id}
                    aria-describedby={`key-${id}`}
                    className="max-lg:grow max-lg:border max-lg:border-line lg:h-7 lg:px-2"
                  >
                    {rowActionLabels[action]}
                  </Button>
                ))}
            </div>
          )}
        </td>
      )}
    </TableRow>
  )
}

function Replaced({ predecessor, revocable, now }: { predecessor: Predecessor; revocable: boolean; now: Date }) {
  const { id, start, expiresAt } = predecessor
  return (
    <div className="mt-0.5 text-xs text-muted">
      <p id={`key-${id}`} tabIndex={-1}>
        Replaces <KeyStart>{start}</KeyStart>, which works until {absoluteTime(expiresAt)};{" "}
        {predecessorInWords(predecessor, now)}.
      </p>
      {revocable && (
        <Button
          kind="danger-quiet"
          type="submit"
          name="revoke"
          value={id}
          aria-describedby={`key-${id}`}
          className="max-lg:mt-1 max-lg:border max-lg:border-line lg:-ml-1.5 lg:h-6 lg:px-1.5 lg:text-xs"
        >
          Revoke the old key
        </Button>
      )}
    </div>
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

function Line({ children }: { children: ReactNode }) {
  return <p className="text-xs text-muted">{children}</p>
}
