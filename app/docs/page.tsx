import type { Metadata } from "next"
import type { ReactNode } from "react"
import { meteredEndpoints } from "@/app/api/v1/endpoints"
import { CallLinks } from "@/components/code/call-links"
import { CodePanel } from "@/components/code/code-panel"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { Table, TableCell, TableRow } from "@/components/ui/table"
import { conventions, describeParameters, responseHeaders } from "@/lib/api/documents/document"
import { texts } from "@/lib/api/documents/skill"
import { errors } from "@/lib/api/errors"
import { sharedParameters } from "@/lib/api/parameters"
import { lowPercent } from "@/lib/credits/notices"
import { env } from "@/lib/env"
import { keyVariable } from "@/lib/product"
import { kinds, surfaces } from "@/lib/surfaces"
import { Section, WithContents } from "./contents"
import { DescribedList } from "./described-list"
import { Code, Prose } from "./prose"

export const metadata: Metadata = {
  title: "API reference",
  description:
    "How to call the user API and the admin data API: authentication, responses, pagination, rate limits and errors",
}

const sections = [
  { id: "authentication", label: "Authentication" },
  { id: "keys", label: "Limits and rotation of keys" },
  { id: "responses", label: "Responses" },
  { id: "lists", label: "Lists and pagination" },
  { id: "money-and-times", label: "Amounts and timestamps" },
  { id: "untrusted-text", label: "Untrusted text" },
  { id: "credits", label: "Credits" },
  { id: "rate-limit", label: "Rate limits" },
  { id: "errors", label: "Errors" },
  { id: "for-machines", label: "Machine-readable documentation" },
] as const

export default async function OverviewPage() {
  const base = env().BASE_URL
  const metered = await meteredEndpoints()
  return (
    <WithContents contents={sections}>
      <div className="grid max-w-3xl gap-8 pt-6">
        <header className="grid gap-3">
          <h1 className="text-xl font-semibold tracking-tight">API reference</h1>
          <p className="text-muted">
            Two HTTP APIs under <Code>{`${base}/api/v1`}</Code>, each with its own type of API key. A key works with one
            API and is rejected by the other.
          </p>
          <div className="grid gap-3 sm:grid-cols-2">
            {surfaces.toReversed().map((surface) => (
              <Link
                key={surface}
                href={`/docs/${surface}`}
                className="grid content-start gap-1 rounded-lg border border-line bg-panel p-4 hover:border-edge"
              >
                <span className="font-semibold">{texts[surface].title}</span>
                <span className="text-muted">{texts[surface].reads}</span>
                <span className="font-mono text-xs text-muted">
                  {kinds[surface].prefix}… → {kinds[surface].api}
                </span>
              </Link>
            ))}
          </div>
        </header>

        <Section id="authentication" contents={sections}>
          <Sentence>{"Send your API key with each request, in this header or as `x-api-key: <API_KEY>`."}</Sentence>
          <CodePanel title="Header" code="Authorization: Bearer <API_KEY>" />
          <p>
            Keys in URLs are rejected. Every request checks the key and its owner, so a revoked key, a closed account or
            a changed role takes effect on the next request.
          </p>
          <p>
            The example requests in this reference read the key from the environment variable <Code>{keyVariable}</Code>
            . To set it without writing the key to the shell history:
          </p>
          <CodePanel title="Shell" code={`read -rs ${keyVariable} && export ${keyVariable}`} />
        </Section>

        <Section id="keys" contents={sections}>
          <Sentence>{conventions.keys}</Sentence>
          <Sentence>{conventions.rotation}</Sentence>
        </Section>

        <Section id="responses" contents={sections}>
          <Sentence>{conventions.envelope}</Sentence>
          <Sentence>{conventions.errors}</Sentence>
        </Section>

        <Section id="lists" contents={sections}>
          <p>All lists accept these parameters. Some lists also accept filters.</p>
          <DescribedList value={describeParameters(sharedParameters)} />
          <Sentence>{conventions.walk}</Sentence>
          <Sentence>{conventions.stream}</Sentence>
          <Sentence>{conventions.bounds}</Sentence>
          <Sentence>{conventions.strict}</Sentence>
        </Section>

        <Section id="money-and-times" contents={sections}>
          <Sentence>{conventions.money}</Sentence>
          <Sentence>{conventions.times}</Sentence>
        </Section>

        <Section id="untrusted-text" contents={sections}>
          <Sentence>{conventions.untrusted}</Sentence>
        </Section>

        <Section id="credits" contents={sections}>
          <Sentence>{conventions.metered}</Sentence>
          <CallLinks to={metered} />
          <p>
            The field <Code>neededForCall</Code> has the balance that a call needs: in <Code>meta</Code> of the credit
            ledger, and among the limits of the calling key. The account gets an email when {lowPercent} % of the
            credits that were last added are left, and when the balance is too little for a call.
          </p>
          <p>
            <Link href="/#plans" className="text-accent underline">
              Plans and packs
            </Link>{" "}
            add credits. To start a plan or to add credits, write to <SupportLink /> from the address of your account.
          </p>
        </Section>

        <Section id="rate-limit" contents={sections}>
          <Sentence>{conventions.rate}</Sentence>
          <dl className="grid gap-x-4 gap-y-1 sm:grid-cols-[max-content_minmax(0,1fr)]">
            {Object.entries(responseHeaders).map(([name, meaning]) => (
              <div key={name} className="contents">
                <dt>
                  <Code>{name}</Code>
                </dt>
                <dd className="text-muted">{meaning}</dd>
              </div>
            ))}
          </dl>
        </Section>

        <Section id="errors" contents={sections}>
          <Table caption="Error codes" headings={[{ label: "Status" }, { label: "Code" }, { label: "Meaning" }]}>
            {Object.entries(errors).map(([code, { status, meaning }]) => (
              <TableRow key={code}>
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
        </Section>

        <Section id="for-machines" contents={sections}>
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
        </Section>
      </div>
    </WithContents>
  )
}

function Sentence({ children }: { children: string }) {
  return (
    <p>
      <Prose>{children}</Prose>
    </p>
  )
}

function Document({ path, children }: { path: string; children: ReactNode }) {
  return (
    <li>
      <a href={path} className="font-mono text-[0.8125rem] text-accent hover:underline">
        {path}
      </a>{" "}
      <span className="text-muted">{children}</span>
    </li>
  )
}
