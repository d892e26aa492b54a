import type { Metadata } from "next"
import { CodePanel } from "@/components/code/code-panel"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { env } from "@/lib/env"
import { maxReportedKeys } from "@/lib/leaks/leak-report"
import { gitleaksToml } from "@/lib/leaks/pattern"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { kinds } from "@/lib/surfaces"
import { Section, WithContents } from "../contents"
import { Code } from "../prose"

export const metadata: Metadata = {
  title: "Report leaked keys",
  description: "How to report API keys that were published by mistake, and how scanners find them",
}

const sections = [
  { id: "report", label: "Report keys" },
  { id: "what-happens", label: "What happens" },
  { id: "your-own-key", label: "If the key is yours" },
  { id: "scanners", label: "For scanners" },
  { id: "vulnerabilities", label: "Vulnerabilities" },
] as const

export default function LeaksPage() {
  const report = `${env().BASE_URL}/api/leaks`
  const { user, admin } = kinds
  return (
    <WithContents contents={sections}>
      <div className="grid max-w-3xl gap-8 pt-6">
        <header className="grid gap-3">
          <h1 className="text-xl font-semibold tracking-tight">Report leaked keys</h1>
          <p className="text-muted">
            Did you find an API key in a repository, a log or a chat, where others can read it? Keys begin with{" "}
            <Code>{user.prefix}</Code> or <Code>{admin.prefix}</Code>. Report it here, and it stops working.
          </p>
        </header>

        <Section id="report" contents={sections}>
          <p>You need no account and no key. One report can contain up to {maxReportedKeys} keys.</p>
          <CodePanel
            title="Shell"
            code={`curl ${report} \\\n  -H "Content-Type: application/json" \\\n  -d '{"keys":["${user.prefix}…"]}'`}
          />
          <p>
            The response is always 202 with the same body, regardless of the keys. It is 429 after{" "}
            {limits.leakReportsAddress.tokens} reports from one IP address within an hour, with <Code>Retry-After</Code>
            .
          </p>
        </Section>

        <Section id="what-happens" contents={sections}>
          <p>
            Within seconds, each key that works is revoked, together with the key that it has replaced if that one still
            works. Its owner gets one email, with a link to the report of the key. Nothing else happens: other texts,
            and keys that no longer work, are ignored.
          </p>
        </Section>

        <Section id="your-own-key" contents={sections}>
          <p>
            Revoke it at{" "}
            <Link href={user.page} className="text-accent underline">
              {user.page}
            </Link>
            , or replace it there with “It leaked”, which gives you a new key at once. Both take effect on the next
            request.
          </p>
        </Section>

        <Section id="scanners" contents={sections}>
          <p>A rule for gitleaks:</p>
          <CodePanel title=".gitleaks.toml" code={gitleaksToml} />
          <p>
            <a href="/api/v1/secret-pattern.json" className="text-accent underline">
              /api/v1/secret-pattern.json
            </a>{" "}
            contains this rule and the patterns for GitHub&apos;s secret scanning partner program, which reports to{" "}
            <Code>{`${report}/github`}</Code>. A key ends with a checksum, so text that only looks like a key is
            ignored.
          </p>
        </Section>

        <Section id="vulnerabilities" contents={sections}>
          <p>
            Write to <SupportLink />. Please do not publish a vulnerability before it is fixed.
          </p>
        </Section>
      </div>
    </WithContents>
  )
}
