import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Day } from "@/components/list/cells"
import { RowActions, RowButton, Table, TableCell, TableRow } from "@/components/ui/table"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import type { Factors } from "@/lib/sign-in/two-factor/factors"
import { FactorButtons } from "./factor-buttons"
import { factorRemoval } from "./factor-removal"

export function FactorList({
  factors: { app, passkeys },
  selected,
  page,
}: {
  factors: Factors
  selected: string | string[] | undefined
  page: string
}) {
  const now = new Date()
  const listed = [...(app ? [{ id: "app", name: "Authenticator app", ...app }] : []), ...passkeys]
  return (
    <>
      {typeof selected === "string" && (
        <ConfirmPanel
          confirmation={factorRemoval(selected, listed)}
          unavailable={!listed.some(({ id }) => id === selected) && "This was already removed."}
          page={page}
          back="Back to the list"
        />
      )}
      {listed.length > 0 && (
        <FactorButtons factors={listed.map(({ id, name }) => ({ id, name }))}>
          <Table
            caption="Your second factors"
            headings={[
              { label: "Name" },
              { label: "Kind" },
              { label: "Added" },
              { label: "Last used" },
              { actions: "Actions" },
            ]}
          >
            {listed.map(({ id, name, createdAt, lastUsedAt }) => (
              <TableRow key={id}>
                <TableCell label="Name" names className="wrap-anywhere">
                  <span id={`factor-${id}`} className="font-medium">
                    <Untrusted>{name}</Untrusted>
                  </span>
                </TableCell>
                <TableCell label="Kind" className="text-muted">
                  {id === "app" ? "App" : "Passkey"}
                </TableCell>
                <TableCell label="Added" className="text-muted">
                  <Day at={createdAt.toISOString()} />
                </TableCell>
                <TableCell label="Last used" className="text-muted">
                  {lastUsedAt ? <RelativeTime date={lastUsedAt} now={now} /> : "Never"}
                </TableCell>
                <RowActions>
                  <RowButton danger name="remove" value={id} aria-describedby={`factor-${id}`}>
                    Remove
                  </RowButton>
                </RowActions>
              </TableRow>
            ))}
          </Table>
        </FactorButtons>
      )}
    </>
  )
}
