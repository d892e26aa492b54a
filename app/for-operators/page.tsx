import type { Metadata } from "next"
import { Points, SiteFooter, SiteHeader, SiteMain, SiteSection } from "@/app/_shell/site"
import { agentPrompt } from "@/components/code/agent-prompt"
import { CodePanel } from "@/components/code/code-panel"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { kinds } from "@/lib/surfaces"
import { Shot } from "./shot"

export const metadata: Metadata = {
  title: "For operators",
  description: "The console and the admin data API, for the people who operate the product",
  robots: { index: true },
}

/** The same for everyone: see lib/platform/http/documents.ts. */
export default function OperatorsPage() {
  return (
    <>
      <SiteHeader>
        <Link href="/admin" className={buttonStyle()}>
          Open the console
        </Link>
      </SiteHeader>
      <SiteMain>
        <div className="grid gap-8">
          <div className="grid gap-4">
            <h1 className="text-4xl font-semibold tracking-tight text-balance">For operators</h1>
            <p className="max-w-2xl text-lg text-pretty text-muted">
              Revenue, sign-ups and churn at a glance. Reports and AI agents get the same figures through keys that
              start with <code className="font-mono text-admin">{kinds.admin.prefix}</code>.
            </p>
          </div>
          <Shot name="overview" alt="The overview with recurring revenue, net revenue, sign-ups and churn as charts" />
          <Points
            points={[
              "Read-only, and limited to what the role of the key’s owner permits today.",
              "Exact counts and sums for any range in one small response, instead of all rows.",
              "Every request is logged. Text that outsiders wrote is marked as such.",
            ]}
          />
        </div>
        <SiteSection
          title="Paste this into your agent"
          text={<p>The prompt comes with each admin key. The agent reads one document and knows what it may ask.</p>}
        >
          <CodePanel title="Agent prompt" code={agentPrompt(`${kinds.admin.prefix}…`)} surface="admin" />
        </SiteSection>
      </SiteMain>
      <SiteFooter />
    </>
  )
}
