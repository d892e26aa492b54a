import type { ReactNode } from "react"
import { Count, Day, Money, SignedCount, Status } from "@/components/list/cells"
import { PanelList, PanelRow } from "@/components/page/panel-list"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import { lastEmailsOf, lastOrdersOf } from "@/lib/accounts/overview"
import { lastLinesOf } from "@/lib/credits/lines"
import { nameOfLine } from "@/lib/credits/words"
import { activityForStaff } from "@/lib/sign-in/activity"
import { liveSessions } from "@/lib/sign-in/session-rows"
import type { AccountList } from "./record-links"

type Subject = { id: string; role: string }

type Part = (of: { account: Subject; href: string }) => Promise<ReactNode>

const columns: readonly Readonly<Record<string, Part>>[] = [
  { audit: Timeline, emails: Emails },
  { orders: Orders, credits: Ledger },
]

/** `lists` holds only lists that the viewer may open. */
export function LastRecords({ account, lists }: { account: Subject; lists: readonly AccountList[] }) {
  // Of two links to the audit log, the last one: actions on this account.
  const hrefs = new Map(lists.map(({ resource, href }) => [resource, href]))
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-10 gap-y-8 lg:grid-cols-2">
      {columns.map((parts, index) => (
        <div key={Object.keys(parts).join()} className="grid grid-cols-[minmax(0,1fr)] gap-8 empty:hidden">
          {Object.entries(parts).map(([resource, Part]) => {
            const href = hrefs.get(resource)
            return href && <Part key={resource} account={account} href={href} />
          })}
          {index === 1 && <Sessions account={account} />}
        </div>
      ))}
    </div>
  )
}

async function Timeline({ account, href }: { account: Subject; href: string }) {
  const entries = await activityForStaff(account.id)
  return (
    <PanelList title="Activity" all={{ href, label: "Audit log" }} empty="Nothing happened yet.">
      {entries.map(({ id, sentence, createdAt, times }) => (
        <PanelRow
          key={id}
          title={<Untrusted>{sentence}</Untrusted>}
          endNote={
            <>
              {times > 1 && "last "}
              <Ago date={createdAt} />
            </>
          }
        />
      ))}
    </PanelList>
  )
}

async function Orders({ account, href }: { account: Subject; href: string }) {
  const orders = await lastOrdersOf(account.id)
  return (
    <PanelList title="Orders" all={{ href, label: "All orders" }} empty="No orders.">
      {orders.map(({ id, description, status, amount, currency, createdAt }) => (
        <PanelRow
          key={id}
          title={<Untrusted>{description}</Untrusted>}
          note={<Day at={createdAt.toISOString()} />}
          end={<Money amount={amount} currency={currency} />}
          endNote={<Status value={status} />}
        />
      ))}
    </PanelList>
  )
}

async function Ledger({ account, href }: { account: Subject; href: string }) {
  const lines = await lastLinesOf(account.id)
  return (
    <PanelList title="Credits" all={{ href, label: "Ledger" }} empty="No entries.">
      {lines.map(({ id, amount, balanceAfter, createdAt, description, ...line }) => (
        <PanelRow
          key={id}
          title={
            <>
              {nameOfLine(line)}
              {description && (
                <>
                  : <Untrusted>{description}</Untrusted>
                </>
              )}
            </>
          }
          note={<Day at={createdAt} />}
          end={<SignedCount value={amount} />}
          endNote={
            <>
              balance <Count value={balanceAfter} />
            </>
          }
        />
      ))}
    </PanelList>
  )
}

async function Emails({ account, href }: { account: Subject; href: string }) {
  const emails = await lastEmailsOf(account.id)
  return (
    <PanelList title="Emails sent" all={{ href, label: "All emails" }} empty="No emails.">
      {emails.map(({ id, subject, status, createdAt }) => (
        <PanelRow
          key={id}
          title={<Untrusted>{subject}</Untrusted>}
          note={<Ago date={createdAt} />}
          end={<Status value={status} />}
        />
      ))}
    </PanelList>
  )
}

/** Without network addresses, which only the account itself sees. */
async function Sessions({ account }: { account: Subject }) {
  const sessions = await liveSessions(account)
  return (
    <PanelList title="Sessions" empty="Not signed in anywhere.">
      {sessions.slice(0, 10).map(({ id, browser, createdAt, lastSeenAt }) => (
        <PanelRow
          key={id}
          title={<Untrusted>{browser}</Untrusted>}
          note={
            <>
              started <Ago date={createdAt} />
            </>
          }
          endNote={
            <>
              last seen <Ago date={lastSeenAt} />
            </>
          }
        />
      ))}
    </PanelList>
  )
}

function Ago({ date }: { date: Date }) {
  return <RelativeTime date={date} now={new Date()} />
}
