import type { Metadata } from "next"
import type { ReactNode } from "react"
import { helpLinks, landingPage } from "@/app/_shell/sections"
import { LiveRequest } from "@/app/_start/live-request"
import { Plans } from "@/app/_start/plans"
import { Shot } from "@/app/_start/shot"
import { type MeteredEndpoint, meteredEndpoints } from "@/app/api/v1/endpoints"
import { agentPrompt } from "@/components/code/agent-prompt"
import { CallLinks } from "@/components/code/call-links"
import { CodePanel } from "@/components/code/code-panel"
import { readableJson } from "@/components/code/readable-json"
import { Wordmark } from "@/components/page/wordmark"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { exampleRequest } from "@/lib/api/documents/example-requests"
import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"

export const metadata: Metadata = { robots: { index: true } }

export default async function StartPage() {
  const viewer = await currentViewer()
  const dashboard = viewer && (await landingPage(viewer.role))
  const metered = await meteredEndpoints()
  return (
    <>
      <header className="mx-auto flex max-w-5xl items-center gap-2 px-4 py-3 sm:px-6">
        <Wordmark />
        <nav aria-label="Site" className="ml-auto flex flex-wrap gap-1">
          {(await helpLinks()).map(({ href, label }) => (
            <Link key={href} href={href} className={buttonStyle("quiet")}>
              {label}
            </Link>
          ))}
          <Link href={dashboard ?? "/sign-in"} className={buttonStyle()}>
            {dashboard ? "Open dashboard" : "Sign in"}
          </Link>
        </nav>
      </header>
      <main className="mx-auto grid max-w-5xl grid-cols-[minmax(0,1fr)] gap-20 px-4 pt-[max(2rem,8vh)] pb-20 sm:px-6">
        <div className="grid justify-items-center gap-5 text-center">
          <h1 className="max-w-2xl text-4xl font-semibold tracking-tight text-balance sm:text-5xl">
            Call the API. Pay only for the credits that each call uses.
          </h1>
          <p className="max-w-xl text-lg leading-7 text-pretty text-muted">
            {metered.map((endpoint, index) => `${index === 0 ? "One call" : "Another one"} ${whatItDoes(endpoint)}. `)}
            Create a key, make your first call in a minute, and decide what each key may do and spend.
          </p>
          <div className="flex flex-wrap justify-center gap-2">
            <Link href={dashboard ?? "/sign-up"} className={`${buttonStyle("primary")} h-10 px-5 text-base sm:h-10`}>
              {dashboard ? "Open dashboard" : "Create account"}
            </Link>
            <Link href="/docs" className={`${buttonStyle()} h-10 px-5 text-base sm:h-10`}>
              Read the API reference
            </Link>
          </div>
        </div>
        <FirstCall metered={metered} />
        <Section
          title="Keys you can trust"
          text={`A key that starts with ${kinds.user.prefix} reads and spends for one account, and for no other.`}
        >
          <Points
            points={[
              "Permissions, allowed addresses, request and spending limits, and an expiry for each key.",
              "Rotation without downtime: the old key works on for up to 7 days.",
              "A revocation takes effect on the next request. A key found on GitHub is revoked automatically.",
            ]}
          />
        </Section>
        <Plans metered={metered} hasAccount={viewer !== null} />
        <Section
          title="For the team behind it"
          text={`Revenue, sign-ups and churn at a glance. Reports and AI agents get the same figures through keys that start with ${kinds.admin.prefix}.`}
        >
          <Points
            points={[
              "Read-only, and limited to what the role of the key’s owner permits today.",
              "Exact counts and sums for any range in one small response, instead of all rows.",
              "Every request is logged. Text that outsiders wrote is marked as such.",
            ]}
          />
          <Shot name="overview" alt="The overview with recurring revenue, net revenue, sign-ups and churn as charts" />
        </Section>
        <ForAgents />
      </main>
      <Footer />
    </>
  )
}

function FirstCall({ metered: [first, ...others] }: { metered: readonly MeteredEndpoint[] }) {
  const baseUrl = env().BASE_URL
  return (
    <Section
      title="One call, one charge"
      text="Credits are reserved, the work is done, and only its cost is charged. Send the same Idempotency-Key again, and you get the first response back for free."
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-2">
        {first && <CodePanel title="Request" code={exampleRequest(first, "curl", baseUrl)} />}
        {first && <CodePanel title="Response" code={readableJson(first.example)} />}
      </div>
      <CallLinks to={others} />
      <LiveRequest
        requests={[
          { label: "Send a public request", path: "/api/v1/secret-pattern.json" },
          { label: "Send a request without a key", path: kinds.user.api },
        ]}
      >
        Try it now. The first request asks for the pattern by which code scanners find leaked keys, which anyone may
        read. The second one asks for an account without a key, so it is rejected: every error has that format.
      </LiveRequest>
    </Section>
  )
}

/** The first clause of the summary; the cost of a call follows the semicolon. */
function whatItDoes({ summary }: MeteredEndpoint): string {
  const [clause = ""] = summary.split(";")
  return clause.charAt(0).toLowerCase() + clause.slice(1)
}

function ForAgents() {
  return (
    <Section
      title="Paste this into your agent"
      text="The prompt comes with each admin key. The agent reads one document and knows what it may ask."
    >
      <CodePanel title="Agent prompt" code={agentPrompt(`${kinds.admin.prefix}…`)} />
    </Section>
  )
}

function Section({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <div className="grid gap-2">
        <h2 className="text-2xl font-semibold tracking-tight">{title}</h2>
        <p className="max-w-2xl text-base text-muted">{text}</p>
      </div>
      {children}
    </section>
  )
}

function Points({ points }: { points: readonly string[] }) {
  return (
    <ul className="grid gap-4 sm:grid-cols-3">
      {points.map((point) => (
        <li key={point} className="rounded-xl border border-line bg-panel p-5 text-base text-muted">
          {point}
        </li>
      ))}
    </ul>
  )
}

function Footer() {
  return (
    <footer className="border-t border-line">
      <div className="mx-auto flex max-w-5xl flex-wrap items-center gap-x-6 gap-y-2 px-4 py-6 text-muted sm:px-6">
        <span className="mr-auto">{product.name}</span>
        <Link href="/docs" className="hover:text-ink">
          API reference
        </Link>
        <Link href="/docs/leaks" className="hover:text-ink">
          Report a leaked key
        </Link>
        <a href="/.well-known/security.txt" className="hover:text-ink">
          Security
        </a>
        <a href={`mailto:${product.supportEmail}`} className="hover:text-ink">
          {product.supportEmail}
        </a>
      </div>
    </footer>
  )
}
