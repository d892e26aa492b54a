import type { ReactNode } from "react"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Day } from "@/components/list/cells"
import { Notice } from "@/components/ui/notice"
import { RowActions, RowButton, Table, TableCell, TableRow } from "@/components/ui/table"
import type { WaysIn } from "@/lib/sign-in/providers/provider-accounts"
import { socialProviders } from "@/lib/sign-in/providers/providers"
import { ProviderButtons } from "./provider-buttons"
import { connection, disconnection } from "./provider-confirmation"

type Query = Record<string, string | string[] | undefined>

/** By the value of `connection`, which the callback of a provider adds to the URL. */
const outcomes = new Map<unknown, { tone: "good" | "bad"; text: string }>([
  ["connected", { tone: "good", text: "The service is connected. You can sign in with it from now on." }],
  [
    "failed",
    { tone: "bad", text: "Nothing was connected: the sign-in at the service was canceled or failed. Try again." },
  ],
  ["expired", { tone: "bad", text: "Nothing was connected: this took too long, or you were signed out. Try again." }],
  [
    "second",
    {
      tone: "bad",
      text: "Nothing was connected: your account already has a connection to this service. Disconnect it first.",
    },
  ],
  [
    "in_use",
    {
      tone: "bad",
      text: "Nothing was connected: your account at the service is already connected to another account here.",
    },
  ],
])

export function Providers({
  ways,
  passkeys,
  query,
  page,
}: {
  ways: WaysIn
  passkeys: number
  query: Query
  page: string
}) {
  const { hasPassword, providers: connected } = ways
  const available = socialProviders()
  const outcome = outcomes.get(query.connection)
  const connecting = available.find(({ id }) => id === query.connect)
  const disconnecting = connected.find(({ id }) => id === query.disconnect)
  return (
    <div id="ways" className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 className="text-base font-semibold">Sign-in methods</h2>
      {outcome && (
        <Notice tone={outcome.tone} role={outcome.tone === "good" ? "status" : "alert"}>
          {outcome.text}
        </Notice>
      )}
      {connecting && <ConfirmPanel confirmation={connection(connecting)} page={page} back="Back to the list" />}
      {typeof query.disconnect === "string" && (
        <ConfirmPanel
          confirmation={disconnection(disconnecting ?? { id: query.disconnect, name: "this service" })}
          unavailable={!disconnecting && "This service is not connected."}
          page={page}
          back="Back to the list"
        />
      )}
      <ProviderButtons available={available} connected={connected.map(({ id, name }) => ({ id, name }))}>
        <Table caption="Sign-in methods" headings={[{ label: "Method" }, { label: "Status" }, { actions: "Actions" }]}>
          <Row id="password" name="Password" status={hasPassword ? "Set" : "Not set"} />
          {passkeys > 0 && <Row id="passkeys" name="Passkeys" status={`${passkeys} added`} />}
          {connected.map(({ id, name, createdAt, isLast }) => (
            <Row
              key={id}
              id={id}
              name={name}
              status={
                <span>
                  Connected <Day at={createdAt.toISOString()} />
                  {isLast && (passkeys > 0 ? "; your only other sign-in method" : "; your only sign-in method")}
                </span>
              }
              button={isLast ? undefined : { name: "disconnect", text: "Disconnect" }}
            />
          ))}
          {available
            .filter(({ id }) => !connected.some(({ provider }) => provider === id))
            .map(({ id, name }) => (
              <Row key={id} id={id} name={name} status="Not connected" button={{ name: "connect", text: "Connect" }} />
            ))}
        </Table>
      </ProviderButtons>
    </div>
  )
}

function Row({
  id,
  name,
  status,
  button,
}: {
  id: string
  name: string
  status: ReactNode
  button?: { name: "connect" | "disconnect"; text: string } | undefined
}) {
  return (
    <TableRow>
      <TableCell label="Method" names>
        <span id={`way-${id}`} className="font-medium">
          {name}
        </span>
      </TableCell>
      <TableCell label="Status" className="text-muted">
        {status}
      </TableCell>
      <RowActions>
        {button && (
          <RowButton danger={button.name === "disconnect"} name={button.name} value={id} aria-describedby={`way-${id}`}>
            {button.text}
          </RowButton>
        )}
      </RowActions>
    </TableRow>
  )
}
