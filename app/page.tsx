import type { Metadata } from "next"
import { landingPage } from "@/app/_shell/sections"
import { Points, SiteFooter, SiteHeader, SiteMain, SiteSection } from "@/app/_shell/site"
import { run } from "@/app/_start/actions"
import { Plans } from "@/app/_start/plans"
import { RecordedCall } from "@/app/_start/recorded-call"
import { SampleForm } from "@/app/_start/sample-form"
import { shownSample } from "@/app/_start/shown-sample"
import { type MeteredEndpoint, meteredEndpoints } from "@/app/api/v1/endpoints"
import { CallLinks } from "@/components/code/call-links"
import { ChosenCode, LanguageChoice } from "@/components/code/language-choice"
import { controlStyle } from "@/components/form/field"
import { Button, buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { exampleRequest } from "@/lib/api/documents/example-requests"
import { sampleMaxLength, sampleOf } from "@/lib/api/sample"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"

export const metadata: Metadata = { robots: { index: true } }

export default async function StartPage() {
  const viewer = await currentViewer()
  const dashboard = viewer && (await landingPage(viewer.role))
  const metered = await meteredEndpoints()
  const [first, ...others] = metered
  const sample = first && sampleOf(first)
  const heading = (
    <div className="grid gap-4">
      <h1 className="text-4xl font-semibold tracking-tight text-balance xl:text-5xl">
        Call the API. Pay only for the credits that each call uses.
      </h1>
      <p className="text-base text-pretty text-muted sm:text-lg">
        {metered.map((endpoint, index) => `${index === 0 ? "One call" : "Another one"} ${whatItDoes(endpoint)}. `)}
      </p>
    </div>
  )
  const next = <NextStep dashboard={dashboard} />
  return (
    <>
      <SiteHeader>
        <Link href={dashboard ?? "/sign-in"} className={buttonStyle()}>
          {dashboard ? "Open dashboard" : "Sign in"}
        </Link>
      </SiteHeader>
      <SiteMain>
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-10 gap-y-6 lg:grid-cols-2">
          {sample ? (
            <SampleForm
              action={run}
              prefilled={shownSample(sample)}
              heading={heading}
              label={
                <label htmlFor="sample" className="font-medium">
                  Your text
                </label>
              }
              hint={
                <p id="sample-note" className="text-muted">
                  Up to {sampleMaxLength} characters. Nothing is charged or stored; id, balance and time are examples.
                </p>
              }
              fieldStyle={`${controlStyle} h-auto py-1.5 sm:h-auto`}
              codeStyle="rounded-lg border border-line bg-panel px-3 py-2.5 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap"
              button={
                <Button kind="primary" type="submit" className="px-5 group-aria-busy:opacity-60">
                  Run
                </Button>
              }
            >
              {next}
            </SampleForm>
          ) : (
            <RecordedCall endpoint={first} heading={heading}>
              {next}
            </RecordedCall>
          )}
        </div>
        {first && (
          <SiteSection
            title="One call, one charge"
            text={
              <>
                <p>
                  Credits are reserved, the work is done, and only its cost is charged. Send the same Idempotency-Key
                  again, and you get the first response back for free.
                </p>
                <p>
                  <Link href="/docs" className="text-accent underline">
                    Read the API reference
                  </Link>
                </p>
              </>
            }
          >
            <div className="group/requests grid grid-cols-[minmax(0,1fr)] gap-2">
              <div className="px-2">
                <LanguageChoice />
              </div>
              <ChosenCode
                title="Request"
                surface="user"
                codeIn={(language) => exampleRequest(first, language, env().BASE_URL)}
              />
            </div>
            <CallLinks to={others} />
          </SiteSection>
        )}
        <Plans metered={metered} hasAccount={viewer !== null} />
        <SiteSection
          title="Keys you can trust"
          text={
            <p>
              A key that starts with <code className="font-mono text-user">{kinds.user.prefix}</code> reads and spends
              for one account, and for no other.
            </p>
          }
        >
          <Points
            points={[
              "Permissions, allowed addresses, request and spending limits, and an expiry for each key.",
              "Rotation without downtime: the old key works on for up to 7 days.",
              "A revocation takes effect on the next request. A key found on GitHub is revoked automatically.",
            ]}
          />
        </SiteSection>
      </SiteMain>
      <SiteFooter />
    </>
  )
}

function NextStep({ dashboard }: { dashboard: string | null }) {
  const free = env().WELCOME_CREDITS
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <Link href={dashboard ?? "/sign-up"} className={buttonStyle()}>
        {dashboard ? "Open dashboard" : "Create account"}
      </Link>
      {!dashboard && free > 0 && <span>Your first {inCredits(free)} are free.</span>}
    </div>
  )
}

/** The first clause of the summary; the cost of a call follows the semicolon. */
function whatItDoes({ summary }: MeteredEndpoint): string {
  const [clause = ""] = summary.split(";")
  return clause.charAt(0).toLowerCase() + clause.slice(1)
}
