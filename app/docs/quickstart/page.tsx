import type { Metadata } from "next"
import type { ReactNode } from "react"
import type { z } from "zod"
import { quickstart } from "@/app/_shell/documents/sections"
import { endpoints, meteredEndpoints } from "@/app/api/v1/endpoints"
import { CodePanel } from "@/components/code/code-panel"
import { ChosenCode } from "@/components/code/language-choice"
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
import { Code } from "../prose"
import { Section } from "../section"

export const metadata: Metadata = {
  title: "Quickstart",
  description:
    "Get a key, make a call that costs credits, read an error and retry safely: in curl, JavaScript or Python",
}

type Contents = Partial<Record<(typeof quickstart)[number]["id"], ReactNode>>

export default async function QuickstartPage() {
  const base = env().BASE_URL
  const account = (await endpoints()).find(({ path }) => path === kinds.user.api)
  const [call] = await meteredEndpoints()
  const refused = call && errorFor(call.body)
  const welcome = env().WELCOME_CREDITS
  const code: Contents = {
    key: (
      <>
        <CodePanel
          title="Shell"
          code={`read -rs ${keyVariable} && export ${keyVariable}`}
          language="shell"
          surface="user"
        />
        {account && (
          <>
            <ChosenCode title="Request" surface="user" codeIn={(language) => exampleRequest(account, language, base)} />
            <CodePanel title="Response" code={readableJson(account.example)} language="json" surface="user" />
          </>
        )}
      </>
    ),
    call: call && (
      <>
        <ChosenCode
          title="Charged request"
          surface="user"
          codeIn={(language) => exampleRequest(call, language, base)}
        />
        <CodePanel
          title="Response to the charged request"
          code={readableJson(call.example)}
          language="json"
          surface="user"
        />
      </>
    ),
    error: refused && (
      <CodePanel
        title={`Response ${refused.error.status}`}
        code={readableJson(JSON.parse(errorEnvelope(refused.error.code, refused.error.message)))}
        language="json"
        surface="user"
      />
    ),
    retry: call && (
      <ChosenCode
        title="Request with retries"
        surface="user"
        codeIn={(language) => exampleRetries(call, language, base)}
      />
    ),
  }
  const more: Contents = {
    key: (
      <>
        <p>
          <Link href={`${kinds.user.page}?new`} className={buttonStyle("primary")}>
            Create a key
          </Link>
        </p>
        {account && <p>The first request returns the account of the key, and costs nothing.</p>}
      </>
    ),
    call: call && (
      <p>
        <a href={`/docs/${call.surface}#${operationId(call)}`} className="text-accent underline">
          {call.method} {call.path}
        </a>{" "}
        costs up to {inCredits(call.metered.maxCost)}. The response has the actual <Code>cost</Code> and the{" "}
        <Code>balance</Code> that is left.{welcome > 0 && ` A new account has ${inCredits(welcome)}.`}
      </p>
    ),
    error: (
      <>
        {refused && (
          <p>
            With the body <Code>{refused.body}</Code>, the same call returns {refused.error.status}.
          </p>
        )}
        <p>
          <a href="/docs#errors" className="text-accent underline">
            All error codes
          </a>
        </p>
      </>
    ),
    retry: (
      <>
        <p>
          The response to a retry of a charged call has the header <Code>Idempotency-Replayed: true</Code> and the same
          body, with the same id, cost and balance.
        </p>
        <p>
          Next:{" "}
          <a href="/docs#idempotency" className="text-accent underline">
            idempotency
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
      <header className="grid gap-3 pt-6">
        <h1 className="text-title">Quickstart</h1>
        <p className="text-muted">From nothing to a charged call and a safe retry, in a few minutes.</p>
      </header>
      {quickstart.map((step, index) => (
        <Section key={step.id} {...step} title={`${index + 1}. ${step.title}`} code={code[step.id]}>
          {more[step.id]}
        </Section>
      ))}
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
