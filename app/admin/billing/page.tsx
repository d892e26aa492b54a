import type { Metadata } from "next"
import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/id-links"
import { ProviderLink } from "@/components/admin/provider-link"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Count } from "@/components/list/cells"
import { PageFrame } from "@/components/page/page-frame"
import { PanelList, PanelRow } from "@/components/page/panel-list"
import { Button, buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { rowId } from "@/components/ui/table"
import { Tile, Tiles } from "@/components/ui/tile"
import { RelativeTime } from "@/components/values/relative-time"
import type { ProviderRequest } from "@/generated/prisma/client"
import { emailsOf } from "@/lib/accounts/addresses"
import { findAttention } from "@/lib/payments/attention"
import { paymentProvider } from "@/lib/payments/configured"
import { findRequest } from "@/lib/payments/withdraw-request"
import { holds } from "@/lib/permissions"
import { isUuid } from "@/lib/platform/schemas/text"
import type { AtProvider } from "@/lib/purchases/provider-objects"
import { requirePermission } from "@/lib/sign-in/browser-session"
import { WithdrawalButtons } from "./billing-buttons"
import { actionNames, withdrawalOf } from "./confirmations"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default async function PaymentsPage({ searchParams }: PageProps<"/admin/billing">) {
  const viewer = await requirePermission("/admin/billing", "billing.read")
  const { differences, requests, events, comparison } = await findAttention()
  const userIds = [...differences, ...requests].flatMap(({ userId }) => userId ?? [])
  const emails = holds(viewer.role, "users.read") ? await emailsOf(userIds) : undefined
  const mayManage = holds(viewer.role, "billing.manage")
  const { withdraw } = await searchParams
  const asked = mayManage && isUuid(String(withdraw)) ? await findRequest(String(withdraw)) : null
  const subjectOf = ({ id, userId, action, objectId }: ProviderRequest) => {
    return { id, action, objectId, email: emails?.get(userId) }
  }
  const account = (id: string | null) => id && <AccountLink id={id} email={emails?.get(id)} />
  return (
    <PageFrame
      title={entry.label}
      intro={
        paymentProvider()
          ? "Differences between the payment provider and our books, and pending requests and events."
          : "No payment provider is configured, so nothing is sold here."
      }
      actions={
        mayManage && (
          <Link href="/admin/billing/purchase" className={buttonStyle("primary")}>
            Record a purchase
          </Link>
        )
      }
    >
      {asked && (
        <ConfirmPanel
          confirmation={withdrawalOf(subjectOf(asked))}
          unavailable={asked.doneAt && "This request is done, or was withdrawn."}
          page="/admin/billing"
          back="Back to payments"
        />
      )}
      <Tiles>
        <Tile lead label="To check" note={comparison ? <Compared {...comparison} /> : "Not compared yet"}>
          <Count value={differences.length} />
        </Tile>
        <Tile label="Pending requests">
          <Count value={requests.length} />
        </Tile>
        <Tile label="Pending events">
          <Count value={events.length} />
        </Tile>
      </Tiles>
      <PanelList title="To check" empty={comparison ? "The provider and our books agree." : "Compared once a day."}>
        {differences.map(({ id, url, userId, sentence, updatedAt }) => (
          <PanelRow
            key={id}
            title={sentence}
            note={account(userId)}
            end={<AtEnd id={id} url={url} />}
            endNote={<Ago date={updatedAt} />}
          />
        ))}
      </PanelList>
      <WithdrawalButtons subjects={mayManage ? requests.map(subjectOf) : []}>
        <PanelList title="Pending requests to the provider" empty="None">
          {requests.map(({ id, action, objectId, userId, attempts, error, createdAt }) => (
            <PanelRow
              key={id}
              title={<span id={rowId(id)}>{actionNames[action]}</span>}
              note={account(userId)}
              end={<AtEnd id={objectId} url={null} />}
              endNote={
                <>
                  <Ago date={createdAt} />
                  {attempts > 0 && `, tried ${attempts === 1 ? "once" : `${attempts} times`}`}
                  {error && `: ${error}`}
                  {mayManage && (
                    <Button
                      type="submit"
                      kind="danger-quiet"
                      name="withdraw"
                      value={id}
                      aria-describedby={rowId(id)}
                      className="h-7 px-2"
                    >
                      Withdraw
                    </Button>
                  )}
                </>
              }
            />
          ))}
        </PanelList>
      </WithdrawalButtons>
      <PanelList title="Events of unknown payments and subscriptions" empty="None">
        {events.map(({ id, kind, objectId, receivedAt }) => (
          <PanelRow
            key={`${id} ${objectId}`}
            title={kind === "payment" ? "A payment" : "A subscription"}
            end={<AtEnd id={objectId} url={null} />}
            endNote={<Ago date={receivedAt} />}
          />
        ))}
      </PanelList>
    </PageFrame>
  )
}

function Compared({ startedAt, finishedAt, booked, reported }: Comparison): ReactNode {
  if (!finishedAt)
    return (
      <>
        A comparison started <Ago date={startedAt} />
      </>
    )
  return (
    <>
      Compared <Ago date={finishedAt} />: {booked} differences booked, {reported} reported
    </>
  )
}

type Comparison = NonNullable<Awaited<ReturnType<typeof findAttention>>["comparison"]>

function AtEnd(of: AtProvider) {
  return (
    <span className="flex justify-end">
      <ProviderLink of={of} />
    </span>
  )
}

function Ago({ date }: { date: Date }) {
  return <RelativeTime date={date} now={new Date()} />
}
