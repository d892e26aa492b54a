import type { Metadata } from "next"
import type { ReactNode } from "react"
import { leaks } from "@/app/_shell/documents/sections"
import { CodePanel } from "@/components/code/code-panel"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { env } from "@/lib/env"
import { gitleaksToml } from "@/lib/leaks/pattern"
import { kinds } from "@/lib/surfaces"
import { DocumentPage } from "../document-page"
import { Code } from "../prose"
import { Section } from "../section"

export const metadata: Metadata = {
  title: "Report leaked keys",
  description: "How to report API keys that were published by mistake, and how scanners find them",
}

export default function LeaksPage() {
  const report = `${env().BASE_URL}/api/leaks`
  const { user, admin } = kinds
  const more: Partial<Record<(typeof leaks)[number]["id"], ReactNode>> = {
    report: (
      <CodePanel
        title="Shell"
        code={`curl ${report} \\\n  -H "Content-Type: application/json" \\\n  -d '{"keys":["${user.prefix}…"]}'`}
        language="shell"
      />
    ),
    "your-own-key": (
      <p>
        Revoke it at{" "}
        <Link href={user.page} className="whitespace-nowrap text-accent underline">
          {user.page}
        </Link>
        , or replace it there with “It leaked”, which gives you a new key at once. Both take effect on the next request.
      </p>
    ),
    scanners: (
      <>
        <CodePanel title=".gitleaks.toml" code={gitleaksToml} />
        <p>
          <a href="/api/v1/secret-pattern.json" className="text-accent underline">
            /api/v1/secret-pattern.json
          </a>{" "}
          contains this rule and the patterns for GitHub&apos;s secret scanning partner program, which reports to{" "}
          <Code>{`${report}/github`}</Code>. A key ends with a checksum, so text that only looks like a key is ignored.
        </p>
      </>
    ),
    vulnerabilities: (
      <p>
        Write to <SupportLink />. Please do not publish a vulnerability before it is fixed.
      </p>
    ),
  }
  return (
    <DocumentPage path="/docs/leaks">
      <header className="grid max-w-3xl gap-3 pt-6">
        <h1 className="text-title">Report leaked keys</h1>
        <p className="text-muted">
          Did you find an API key in a repository, a log or a chat, where others can read it? Keys begin with{" "}
          <Code>{user.prefix}</Code> or <Code>{admin.prefix}</Code>. Report it here, and it stops working.
        </p>
      </header>
      {leaks.map((section) => (
        <Section key={section.id} {...section}>
          {more[section.id]}
        </Section>
      ))}
    </DocumentPage>
  )
}
