import { Search } from "lucide-react"
import type { Metadata } from "next"
import type { ReactNode } from "react"
import { Chart } from "@/components/chart/chart"
import { CodePanel } from "@/components/code/code-panel"
import { CheckboxesField, SelectField, TextAreaField, TextField } from "@/components/form/fields"
import { KeyStart } from "@/components/keys/key-start"
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
import { Tile, Tiles } from "@/components/ui/tile"
import { Lock } from "@/components/values/lock"
import { languageTitles, requestIn } from "@/lib/api/documents/example-requests"
import { requireDevelopment } from "@/lib/platform/http/development"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { kinds, surfaces } from "@/lib/surfaces"
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
          <p className="text-4xl font-semibold tracking-[-0.035em]">1,284.50, the lead figure, 36 px</p>
          <p className="text-figure">1,284.50, a figure, 28 px</p>
          <p className="text-title">Page title, 24 px</p>
          <p className="text-base font-semibold">Section, 16 px</p>
          <p>Text, 14 px</p>
          <p className="text-muted">Explanation, 14 px</p>
          <p className="text-xs text-muted">Note, 12 px</p>
          <p className="font-mono text-xs">Code, 12 px</p>
        </Example>
        <Example title="Surfaces">
          <div className="flex flex-wrap gap-x-10 gap-y-3">
            {surfaces.toReversed().map((surface) => (
              <p key={surface} data-surface={surface} className="flex items-center gap-2 text-title">
                <Lock surface={surface} /> <KeyStart>{kinds[surface].prefix}</KeyStart>
              </p>
            ))}
          </div>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-2">
            {languageTitles.map(([language, title]) => (
              <CodePanel
                key={language}
                title={title}
                code={requestIn(language, { url: "https://example.com", body: { text: "Hello" }, isMetered: true })}
                language={language === "curl" ? "shell" : language}
                surface="user"
              />
            ))}
            <CodePanel
              title="Response"
              code={'{ "id": "…", "rows": 12, "ok": true }'}
              language="json"
              surface="admin"
            />
          </div>
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
          <Tiles>
            <Tile lead label="Revenue" note="the figure that the page is about">
              $12,840.00
            </Tile>
            <Tile label="Sign-ups" note="in 13 weeks">
              48
            </Tile>
            <Tile label="Churn rate" href="/dev/components">
              2.1%
            </Tile>
          </Tiles>
          <Facts>
            <Fact label="Plan">Pro</Fact>
            <Fact label="Started">
              <Time at={new Date(Date.now() - 86_400_000).toISOString()} />
            </Fact>
          </Facts>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-8 lg:grid-cols-2">
            <Chart title="Credits" kind="bar" unit="count" periods={periods} series={three} />
            <Chart title="Balance" kind="line" unit="count" periods={periods} series={[{ label: "Balance", values }]} />
            <Chart title="Requests" kind="bar" unit="count" periods={periods} areParts series={succeeded} />
          </div>
        </Example>
        <Example title="Nothing to show">
          <EmptyState title="Nothing here yet" command={{ label: "Example data", text: "npm run db:seed" }}>
            Fill the database with examples.
          </EmptyState>
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
  ["accent, user", "bg-user text-on-accent"],
  ["admin", "bg-admin text-on-accent"],
  ["second", "bg-(--second) text-page"],
  ["third", "bg-(--third) text-page"],
  ["code", "bg-code text-page"],
  ["good", "bg-good text-page"],
  ["warn", "bg-warn text-page"],
  ["bad", "bg-bad text-page"],
] as const

const buttons: readonly ButtonKind[] = ["primary", "plain", "quiet", "danger", "danger-quiet"]
const values = [12, 18, 9, 24, 31, 27, 30]
const periods = values.map((_, index) => ({ label: `${index + 1} Oct`, name: `${index + 1} Oct 2026` }))

const fewer = values.map((value) => Math.round(value / 3))
const three = [
  { label: "Spent", values },
  { label: "Granted", values: values.toReversed() },
  { label: "Purchased", values: fewer },
]
const succeeded = [
  { label: "Succeeded", values },
  { label: "Failed", values: fewer, isFailure: true },
]

function Example({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 className="text-base font-semibold">{title}</h2>
      {children}
    </section>
  )
}
