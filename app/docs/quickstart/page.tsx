import type { Metadata } from "next"
import type { ReactNode } from "react"
import type { z } from "zod"
import { endpoints, meteredEndpoints } from "@/app/api/v1/endpoints"
import { CodePanel } from "@/components/code/code-panel"
import { readableJson } from "@/components/code/readable-json"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { parseBody } from "@/lib/api/body"
import { operationId } from "@/lib/api/documents/document"
import { exampleRequest, exampleRetries } from "@/lib/api/documents/example-requests"
import { errorEnvelope } from "@/lib/api/envelope"
import { Refusal } from "@/lib/api/errors"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { keyVariable } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { DocumentPage } from "../document-page"
import { ChosenCode } from "../language-choice"
import { Code } from "../prose"
import { Section } from "../section"
import { quickstart } from "../sections"

export const metadata: Metadata = {
  title: "Quickstart",
  description:
    "Get a key, make a call that costs credits, read an error and retry safely: in curl, JavaScript or Python",
}

export default async function QuickstartPage() {
  const base = env().BASE_URL
  const account = (await endpoints()).find(({ path }) => path === kinds.user.api)
  const [call] = await meteredEndpoints()
  const refused = call && errorFor(call.metered.body)
  const more: Partial<Record<(typeof quickstart)[number]["id"], ReactNode>> = {
    key: (
      <>
        <CodePanel title="Shell" code={`read -rs ${keyVariable} && export ${keyVariable}`} language="shell" />
        <p>
          <Link href={`${kinds.user.page}?new`} className={buttonStyle("primary")}>
            Create a key
          </Link>
        </p>
        {account && (
          <>
            <p>This returns the account of the key, and costs nothing:</p>
            <ChosenCode title="Request" codeIn={(language) => exampleRequest(account, language, base)} />
            <CodePanel title="Response" code={readableJson(account.example)} language="json" />
          </>
        )}
      </>
    ),
    call: call && (
      <>
        <p>
          <a href={`/docs/${call.surface}#${operationId(call)}`} className="text-accent underline">
            {call.method} {call.path}
          </a>{" "}
          costs up to {inCredits(call.metered.maxCost)}. The response has the actual cost and the balance that is left:
        </p>
        <ChosenCode title="Charged request" codeIn={(language) => exampleRequest(call, language, base)} />
        <CodePanel title="Response of the call" code={readableJson(call.example)} language="json" />
      </>
    ),
    error: (
      <>
        {refused && (
          <>
            <p>
              With the body <Code>{refused.body}</Code>, the response to the same call is {refused.error.status}:
            </p>
            <CodePanel
              title={`Response ${refused.error.status}`}
              code={readableJson(JSON.parse(errorEnvelope(refused.error.code, refused.error.message)))}
              language="json"
            />
          </>
        )}
        <p>
          <a href="/docs#errors" className="text-accent underline">
            All error codes
          </a>
        </p>
      </>
    ),
    retry: call && (
      <>
        <ChosenCode title="Request with retries" codeIn={(language) => exampleRetries(call, language, base)} />
        <p>
          The response to a retry has the header <Code>Idempotency-Replayed: true</Code> if the call was charged before,
          and the same body: the same id, cost and balance.
        </p>
        <p>
          More:{" "}
          <a href="/docs#idempotency" className="text-accent underline">
            Idempotency
          </a>
          ,{" "}
          <a href="/docs#rate-limit" className="text-accent underline">
            rate limits
          </a>{" "}
          and{" "}
          <a href="/docs#pagination" className="text-accent underline">
            pagination
          </a>
          .
        </p>
      </>
    ),
  }
  return (
    <DocumentPage path="/docs/quickstart" hasCode>
      <div className="grid max-w-3xl grid-cols-[minmax(0,1fr)] gap-8 pt-6">
        <header className="grid gap-3">
          <h1 className="text-xl font-semibold tracking-tight">Quickstart</h1>
          <p className="text-muted">From nothing to a charged call and a safe retry, in a few minutes.</p>
        </header>
        {quickstart.map((step, index) => (
          <Section key={step.id} {...step} title={`${index + 1}. ${step.title}`}>
            {more[step.id]}
          </Section>
        ))}
      </div>
    </DocumentPage>
  )
}

/** The error for a body without fields; where none is required, for no body. */
function errorFor(schema: z.ZodType): { body: string; error: Refusal } | undefined {
  for (const body of ["{}", ""]) {
    try {
      parseBody(Buffer.from(body), schema)
    } catch (error) {
      if (error instanceof Refusal) return { body: body || "empty", error }
    }
  }
}
