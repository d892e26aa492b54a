import type { Metadata } from "next"
import type { ReactNode } from "react"
import { GET as credits } from "@/app/api/v1/me/credits/route"
import { GET as orders } from "@/app/api/v1/me/orders/route"
import { EmptyState } from "@/components/empty-state"
import { Fact, Facts } from "@/components/facts"
import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Link } from "@/components/link"
import { ApiRequest } from "@/components/list/api-request"
import { Count, Money, Status, Text, Time } from "@/components/list/cells"
import { PageFrame, Panel } from "@/components/page-frame"
import { SupportLink } from "@/components/support-link"
import { Untrusted } from "@/components/untrusted"
import { requireViewer } from "@/lib/sign-in/session"
import { currentSubscription } from "@/lib/subscriptions"
import { rename } from "./actions"
import { entry } from "./navigation"
import { SubscriptionFacts } from "./subscription-facts"

export const metadata: Metadata = { title: entry.label }

export default async function AccountPage() {
  const viewer = await requireViewer("/account")
  const [subscription, { meta: balance }, { data, meta: orderMeta }] = await Promise.all([
    currentSubscription(viewer.id),
    credits.endpoint.read(viewer.id, "limit=1"),
    orders.endpoint.read(viewer.id, "limit=1"),
  ])
  const [latest] = data
  return (
    <PageFrame
      title={entry.label}
      intro={
        <>
          <Untrusted>{viewer.name}</Untrusted>, <Untrusted>{viewer.email}</Untrusted>
        </>
      }
    >
      <Section title="Subscription">
        {subscription ? <SubscriptionFacts {...subscription} now={new Date()} /> : <NoSubscription />}
        <ApiRequest path="/api/v1/me/subscription" query={new URLSearchParams()} />
      </Section>
      <Section title="Credits" more={<MoreLink href="/account/credits">Usage and ledger</MoreLink>}>
        <Facts>
          <Fact label="Balance">
            <Count of={balance.balance} />
          </Fact>
          <Fact label="Held by runs in progress">
            <Count of={balance.held} />
          </Fact>
        </Facts>
      </Section>
      <Section title="Orders" more={<MoreLink href="/account/orders">All orders</MoreLink>}>
        {latest ? (
          <Facts>
            <Fact label="Latest">
              <Text>{latest.description}</Text>
            </Fact>
            <Fact label="Amount">
              <span className="flex flex-wrap items-center gap-x-2">
                <Money amount={latest.amount} currency={latest.currency} /> <Status of={latest.status} />
                <Time at={latest.createdAt} />
              </span>
            </Fact>
            <Fact label="Total orders">
              <Count of={orderMeta.total} />
            </Fact>
          </Facts>
        ) : (
          <p className="text-muted">No orders yet.</p>
        )}
      </Section>
      <Panel label="Your name">
        <Form action={rename} done={<Done title="Your name was changed" />}>
          <h2 className="text-base font-semibold">Your name</h2>
          <TextField label="Name" name="name" defaultValue={viewer.name} autoComplete="name" maxLength={100} required />
          <SubmitButton className="justify-self-start">Change name</SubmitButton>
        </Form>
      </Panel>
    </PageFrame>
  )
}

function Section({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 className="text-base font-semibold">{title}</h2>
        {more}
      </div>
      {children}
    </section>
  )
}

function MoreLink({ href, children }: { href: string; children: string }) {
  return (
    <Link href={href} className="font-medium text-accent hover:underline">
      {children}
    </Link>
  )
}

function NoSubscription() {
  return (
    <EmptyState title="No subscription">
      Runs use your credits. A plan adds credits every billing period. Contact <SupportLink /> to subscribe.
    </EmptyState>
  )
}
