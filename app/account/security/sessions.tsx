import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Day } from "@/components/list/cells"
import { Button } from "@/components/ui/button"
import { StatusBadge } from "@/components/ui/status-badge"
import { RowActions, RowButton, TableCell, TableRow } from "@/components/ui/table"
import { RelativeTime } from "@/components/values/relative-time"
import { signInWords } from "@/lib/sign-in/providers/providers"
import type { ListedSession } from "@/lib/sign-in/session-rows"
import { FoldedTable } from "./folded-table"
import { SessionButtons } from "./session-buttons"
import { others, sessionEnding } from "./session-ending"

export function Sessions({
  sessions,
  selected,
  page,
}: {
  sessions: readonly ListedSession[]
  selected: string | string[] | undefined
  page: string
}) {
  const now = new Date()
  const endable = sessions.filter(({ current }) => !current)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 className="text-base font-semibold">Signed-in browsers</h2>
      {typeof selected === "string" && (
        <ConfirmPanel
          confirmation={sessionEnding(selected, endable)}
          unavailable={
            selected !== others && !endable.some(({ id }) => id === selected) && "This browser is not signed in."
          }
          page={page}
          back="Back to the list"
        />
      )}
      <SessionButtons sessions={endable.map(({ id, browser, address }) => ({ id, browser, address }))}>
        <FoldedTable
          caption="Signed-in browsers"
          others="More signed-in browsers"
          headings={[
            { label: "Browser" },
            { label: "IP address" },
            { label: "Signed in" },
            { label: "Last seen" },
            { actions: "Actions" },
          ]}
          rows={sessions.map((session) => <SessionRow key={session.id} session={session} now={now} />)}
        />
        {endable.length > 1 && (
          <Button
            kind="danger-quiet"
            type="submit"
            name="end"
            value={others}
            className="justify-self-start border border-line bg-panel"
          >
            Sign out all others
          </Button>
        )}
      </SessionButtons>
    </div>
  )
}

function SessionRow({ session, now }: { session: ListedSession; now: Date }) {
  const { id, browser, address, via, factor, createdAt, lastSeenAt, current } = session
  return (
    <TableRow>
      <TableCell label="Browser" names>
        <span id={`session-${id}`} className="flex flex-wrap items-center gap-2 font-medium">
          {browser} {current && <StatusBadge tone="good">This browser</StatusBadge>}
        </span>
      </TableCell>
      <TableCell label="IP address" className="text-muted">
        {address}
      </TableCell>
      <TableCell label="Signed in" className="text-muted">
        <span>
          <Day at={createdAt.toISOString()} />, by {signInWords(via, factor)}
        </span>
      </TableCell>
      <TableCell label="Last seen" className="text-muted">
        {current ? "now" : <RelativeTime date={lastSeenAt} now={now} />}
      </TableCell>
      <RowActions>
        {!current && (
          <RowButton danger name="end" value={id} aria-describedby={`session-${id}`}>
            Sign out
          </RowButton>
        )}
      </RowActions>
    </TableRow>
  )
}
