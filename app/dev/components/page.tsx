import { Search } from "lucide-react"
import type { Metadata } from "next"
import type { ReactNode } from "react"
import { Chart } from "@/components/chart/chart"
import { CheckboxesField, SelectField, TextAreaField, TextField } from "@/components/form/fields"
import { Id, Money, None, Status, Time } from "@/components/list/cells"
import { Card, Cards } from "@/components/page/card"
import { PageFrame, Panel } from "@/components/page/page-frame"
import { Button, type ButtonKind } from "@/components/ui/button"
import { CopyField } from "@/components/ui/copy-field"
import { EmptyState } from "@/components/ui/empty-state"
import { Fact, Facts } from "@/components/ui/facts"
import { Notice } from "@/components/ui/notice"
import { StatusBadge } from "@/components/ui/status-badge"
import { RowsTable } from "@/components/ui/table"
import { Tile } from "@/components/ui/tile"
import { requireDevelopment } from "@/lib/platform/http/development"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { ExampleConfirmation } from "./example-confirmation"
import { ExamplePasskey, ExampleRecoveryCodes } from "./example-factors"

export const metadata: Metadata = { title: "Components" }

export default async function ComponentsPage() {
  await requireDevelopment()
  return (
    <main className="px-4 py-10">
      <PageFrame title="Components" intro="What pages are made of. docs/design.md says when to use which.">
        <Example title="Colors">
          <div className="flex flex-wrap gap-2">
            {colors.map(([name, style]) => (
              <span
                key={name}
                className={`grid h-16 w-24 place-content-end rounded-md border border-line p-2 ${style}`}
              >
                <span className="text-xs">{name}</span>
              </span>
            ))}
          </div>
        </Example>
        <Example title="Type">
          <p className="text-xl font-semibold tracking-tight">Page title, 20 px</p>
          <p className="text-base font-semibold">Section, 16 px</p>
          <p>Text, 14 px</p>
          <p className="text-muted">Explanation, 14 px</p>
          <p className="text-xs text-muted">Note, 12 px</p>
          <p className="font-mono text-xs">Code, 12 px</p>
        </Example>
        <Example title="Buttons">
          <div className="flex flex-wrap gap-2">
            {buttons.map((kind) => (
              <Button key={kind} kind={kind}>
                <Search aria-hidden="true" className="size-4" />
                {kind}
              </Button>
            ))}
            <Button disabled>disabled</Button>
          </div>
        </Example>
        <Example title="Status and notices">
          <div className="flex flex-wrap gap-2">
            <StatusBadge tone="good">Active</StatusBadge>
            <StatusBadge tone="warn">Past due</StatusBadge>
            <StatusBadge tone="bad">Failed</StatusBadge>
            <StatusBadge tone="off">Closed</StatusBadge>
          </div>
          <Notice tone="good">The key works.</Notice>
          <Notice tone="warn">This key expires in three days.</Notice>
          <Notice tone="bad">The email address is not complete.</Notice>
        </Example>
        <Example title="Form">
          <Panel label="Example form">
            <TextField label="Name" name="name" hint="Shown in the list of keys." />
            <SelectField label="Expires" name="expires" options={{ "90d": "In 90 days", never: "Never" }} />
            <CheckboxesField label="May" name="scopes" options={{ read: "Read", run: "Run" }} />
            <TextAreaField label="Note" name="note" rows={3} />
          </Panel>
          <CopyField id="copied" label="Copied text" value={'curl "https://example.com"'} copy="Copy request" />
        </Example>
        <Example title="Setting">
          <Cards>
            <Card title="Your picture" intro="Replaces your initials on these pages.">
              <Button className="justify-self-start">Remove picture</Button>
            </Card>
          </Cards>
        </Example>
        <Example title="Table">
          <RowsTable
            caption="Orders"
            columns={[
              { label: "Order", cell: () => <Id value="019ec7ba-2c00-7c01-9f3e-6d1f0a7c55e2" /> },
              { label: "Status", cell: (status) => <Status value={status} /> },
              {
                label: "Amount",
                numeric: true,
                cell: (status) => (status === "paid" ? <Money amount={2_900} currency="eur" /> : <None />),
              },
            ]}
            rows={["paid", "failed"]}
            keyOf={(status) => status}
          />
        </Example>
        <Example title="Numbers">
          <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
            <Tile label="Sign-ups" note="in 13 weeks">
              48
            </Tile>
          </dl>
          <Facts>
            <Fact label="Plan">Pro</Fact>
            <Fact label="Started">
              <Time at={new Date(Date.now() - 86_400_000).toISOString()} />
            </Fact>
          </Facts>
          <Chart title="Requests" kind="bar" unit="count" periods={periods} series={[{ label: "Requests", values }]} />
        </Example>
        <Example title="Nothing to show">
          <EmptyState title="No keys yet">Create a key, copy it, and try it.</EmptyState>
        </Example>
        <Example title="Second factor">
          <Panel label="Example passkey">
            <ExamplePasskey host={passkeyHost()} />
          </Panel>
          <Panel label="Example recovery codes">
            <ExampleRecoveryCodes />
          </Panel>
        </Example>
        <Example title="Dialog and toast">
          <ExampleConfirmation />
        </Example>
      </PageFrame>
    </main>
  )
}

const colors = [
  ["page", "bg-page"],
  ["panel", "bg-panel"],
  ["sunken", "bg-sunken"],
  ["line", "bg-line"],
  ["edge", "bg-edge text-page"],
  ["ink", "bg-ink text-page"],
  ["muted", "bg-muted text-page"],
  ["accent", "bg-accent text-on-accent"],
  ["good", "bg-good text-page"],
  ["warn", "bg-warn text-page"],
  ["bad", "bg-bad text-page"],
] as const

const buttons: readonly ButtonKind[] = ["primary", "plain", "quiet", "danger", "danger-quiet"]
const values = [12, 18, 9, 24, 31, 27, 30]
const periods = values.map((_, index) => ({ label: `${index + 1} Oct`, name: `${index + 1} Oct 2026` }))

function Example({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 className="text-base font-semibold">{title}</h2>
      {children}
    </section>
  )
}
