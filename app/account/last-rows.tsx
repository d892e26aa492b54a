import type { z } from "zod"
import { KeyStart } from "@/components/keys/key-start"
import { Count, Day, Money, Status, Time } from "@/components/list/cells"
import { RequestLink, ResponseStatus } from "@/components/list/request-cells"
import { PanelList, PanelRow } from "@/components/page/panel-list"
import { Untrusted } from "@/components/values/untrusted"
import { inCredits } from "@/lib/credits/words"
import type { NamedKey } from "@/lib/keys/data"
import type { orderRow } from "@/lib/purchases/orders"
import type { KeyMonth } from "@/lib/request-log/by-key"
import type { requestRow } from "@/lib/request-log/lists"
import { kinds } from "@/lib/surfaces"
import { KeyName } from "./key-name"

const { page } = kinds.user
const requestsPage = "/account/requests"

export function LastRequests({
  requests,
  keys,
}: {
  requests: readonly z.output<typeof requestRow>[]
  keys: readonly NamedKey[]
}) {
  return (
    <PanelList title="Recent requests" all={{ href: requestsPage, label: "All requests" }}>
      {requests.map(({ id, requestId, keyId, method, route, status, code, credits, createdAt }) => (
        <PanelRow
          key={id}
          title={<RequestLink list={requestsPage} row={{ id, requestId, method, route }} />}
          note={
            <>
              <KeyName id={keyId} keys={keys} />, <Time at={createdAt} />
            </>
          }
          end={<ResponseStatus status={status} code={code} />}
          endNote={credits > 0 && inCredits(credits)}
        />
      ))}
    </PanelList>
  )
}

export function KeyUse({ used, keys }: { used: readonly KeyMonth[]; keys: readonly NamedKey[] }) {
  const most = Math.max(...used.map(({ requests }) => requests))
  return (
    <PanelList title="Usage by key this month" all={{ href: page, label: "All keys" }}>
      {used.map(({ id, start, requests, credits }) => (
        <PanelRow
          key={id}
          title={
            <>
              <KeyName id={id} keys={keys} /> <KeyStart>{start}</KeyStart>
            </>
          }
          note={<Share value={requests / most} />}
          end={
            <>
              <Count value={requests} /> {requests === 1 ? "request" : "requests"}
            </>
          }
          endNote={credits > 0 && inCredits(credits)}
        />
      ))}
    </PanelList>
  )
}

function Share({ value }: { value: number }) {
  return (
    <div aria-hidden="true" className="mt-1.5 h-1 w-40 max-w-full rounded-full bg-sunken">
      <div className="h-full rounded-full bg-accent" style={{ width: `${value * 100}%` }} />
    </div>
  )
}

export function LastOrders({ orders }: { orders: readonly z.output<typeof orderRow>[] }) {
  return (
    <PanelList title="Latest order" all={{ href: "/account/orders", label: "All orders" }}>
      {orders.map(({ id, description, status, amount, currency, createdAt }) => (
        <PanelRow
          key={id}
          title={<Untrusted>{description}</Untrusted>}
          note={<Day at={createdAt} />}
          end={<Money amount={amount} currency={currency} />}
          endNote={<Status value={status} />}
        />
      ))}
    </PanelList>
  )
}
