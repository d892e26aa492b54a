import { topUp } from "@optional/payments/top-up"
import type { Metadata } from "next"
import type { ReactNode } from "react"
import { guides, headers } from "@/app/_shell/documents/sections"
import { endpoints, meteredEndpoints } from "@/app/api/v1/endpoints"
import { CallLinks } from "@/components/code/call-links"
import { CodePanel } from "@/components/code/code-panel"
import { ChosenCode } from "@/components/code/language-choice"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { Table, TableCell, TableRow } from "@/components/ui/table"
import { describeParameters } from "@/lib/api/documents/document"
import { examplePages, exampleRetries } from "@/lib/api/documents/example-requests"
import { texts } from "@/lib/api/documents/skill"
import { errors } from "@/lib/api/errors"
import { sharedParameters } from "@/lib/api/parameters"
import { lowPercent } from "@/lib/credits/notices"
import { env } from "@/lib/env"
import { keyVariable } from "@/lib/product"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"
import { DescribedList } from "./described-list"
import { DocumentPage } from "./document-page"
import { Code, Prose } from "./prose"
import { Section } from "./section"

export const metadata: Metadata = {
  title: "API reference",
  description:
    "How to call the user API and the admin data API: authentication, responses, pagination, rate limits and errors",
}

type Contents = Partial<Record<(typeof guides)[number]["id"], ReactNode>>

const cardStyle = "grid content-start gap-1 rounded-lg border border-line bg-panel p-4 hover:border-edge"
const hues: Record<Surface, string> = { user: "text-user", admin: "text-admin" }

export default async function GuidesPage() {
  const base = env().BASE_URL
  const sold = topUp()
  const metered = await meteredEndpoints()
  const [call] = metered
  const all = await endpoints()
  const list = all.find(({ surface, shape }) => surface === "user" && shape === "list")
  const code: Contents = {
    authentication: <CodePanel title="Shell" code={setKey} language="shell" />,
    idempotency: call && <ChosenCode title="Retries" codeIn={(language) => exampleRetries(call, language, base)} />,
    pagination: list && <ChosenCode title="All pages" codeIn={(language) => examplePages(list, language, base)} />,
    streams: list && <CodePanel title="All rows as CSV" code={streamOf(base + list.path)} language="shell" />,
  }
  const more: Contents = {
    responses: (
      <dl className="grid gap-x-4 gap-y-1 sm:grid-cols-[max-content_minmax(0,1fr)]">
        {Object.entries(headers).map(([name, meaning]) => (
          <div key={name} className="contents">
            <dt id={name}>
              <Code>{name}</Code>
            </dt>
            <dd className="text-muted">{meaning}</dd>
          </div>
        ))}
      </dl>
    ),
    errors: <ErrorTable />,
    idempotency: all.map(
      ({ path, idempotency }) =>
        idempotency && (
          <p key={path}>
            <Prose>{idempotency}</Prose>
          </p>
        ),
    ),
    pagination: <DescribedList value={describeParameters(sharedParameters)} place="pagination" />,
    credits: (
      <>
        <CallLinks to={metered} />
        <p>
          The account gets an email when {lowPercent} % of the credits that were last added are left, and when the
          balance is too little for a call.
        </p>
        <p>
          <Link href="/#plans" className="text-accent underline">
            Plans and packs
          </Link>{" "}
          add credits.{" "}
          {sold ? (
            <Link href={sold.href} className="text-accent underline">
              {sold.label}
            </Link>
          ) : (
            <>
              To start a plan or to add credits, write to <SupportLink /> from the address of your account.
            </>
          )}
        </p>
      </>
    ),
    "for-machines": (
      <ul className="grid gap-1">
        {surfaces.toReversed().map((surface) => (
          <Document key={surface} path={`${kinds[surface].api}/skill.md`}>
            agent skill for the {texts[surface].title}
          </Document>
        ))}
        <Document path="/api/v1/openapi.json">OpenAPI 3.1 description of both APIs</Document>
        <Document path="/api/v1/secret-pattern.json">how scanners find leaked keys</Document>
        <Document path="/llms.txt">links to all of these documents</Document>
      </ul>
    ),
  }
  return (
    <DocumentPage path="/docs" hasCode>
      <header className="grid gap-3 pt-6 pb-2">
        <h1 className="text-title">API reference</h1>
        <p className="max-w-3xl text-muted">
          Two HTTP APIs under <Code>{`${base}/api/v1`}</Code>, each with its own type of API key. A key works with one
          API and is rejected by the other.
        </p>
        <div className="grid gap-3 sm:grid-cols-3">
          <a href="/docs/quickstart" className={cardStyle}>
            <span className="font-semibold text-accent">Quickstart</span>
            <span className="text-muted">From a key to a call, an error and a safe retry.</span>
          </a>
          {surfaces.toReversed().map((surface) => (
            <a key={surface} href={`/docs/${surface}`} className={cardStyle}>
              <span className={`font-semibold ${hues[surface]}`}>{texts[surface].title}</span>
              <span className="text-muted">{texts[surface].reads}</span>
              <span className="font-mono text-xs text-muted">
                {kinds[surface].prefix}… → {kinds[surface].api}
              </span>
            </a>
          ))}
        </div>
      </header>
      {guides.map((guide) => (
        <Section key={guide.id} {...guide} code={code[guide.id]}>
          {more[guide.id]}
        </Section>
      ))}
    </DocumentPage>
  )
}

const setKey = `read -rs ${keyVariable} && export ${keyVariable}`

function streamOf(url: string): string {
  return `curl "${url}" \\\n  -H "Authorization: Bearer $${keyVariable}" \\\n  -H "Accept: text/csv"`
}

function ErrorTable() {
  return (
    <Table caption="Error codes" headings={[{ label: "Status" }, { label: "Code" }, { label: "Meaning" }]}>
      {Object.entries(errors).map(([code, { status, meaning }]) => (
        <TableRow key={code} id={code}>
          <TableCell label="Status">{status}</TableCell>
          <TableCell label="Code" names className="lg:whitespace-nowrap">
            <Code>{code}</Code>
          </TableCell>
          <TableCell label="Meaning" className="text-muted">
            <span>
              <Prose>{meaning}</Prose>
            </span>
          </TableCell>
        </TableRow>
      ))}
    </Table>
  )
}

function Document({ path, children }: { path: string; children: ReactNode }) {
  return (
    <li>
      <a href={path} className="py-1 font-mono text-[0.8125rem] text-accent hover:underline">
        {path}
      </a>{" "}
      <span className="text-muted">{children}</span>
    </li>
  )
}
