import { CircleCheck, CircleDashed } from "lucide-react"
import { endpoints, meteredEndpoints } from "@/app/api/v1/endpoints"
import { CallLinks } from "@/components/code/call-links"
import { CodePanel } from "@/components/code/code-panel"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import type { Progress } from "@/lib/accounts/progress"
import { exampleRequest } from "@/lib/api/documents/example-requests"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { keyVariable } from "@/lib/product"
import { kinds } from "@/lib/surfaces"

export function NextSteps({ hasVerified, hasKey, hasCalled }: Progress) {
  if (hasKey && hasCalled) return null
  const steps = [
    // Accounts older than verification have an unverified address, and cannot confirm it here.
    ...(hasVerified ? [{ label: "Confirm your email address", href: "/account/security", isDone: true }] : []),
    { label: "Create an API key", href: `${kinds.user.page}?new`, isDone: hasKey },
    { label: "Make your first API call", href: "/docs/user", isDone: hasCalled },
  ]
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section
      aria-label="Next steps"
      className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-4 rounded-xl bg-accent/5 p-4 sm:p-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,1.4fr)]"
    >
      <div className="grid content-start gap-3">
        <h2 className="text-base font-semibold">Next steps</h2>
        <ol>
          {steps.map(({ label, href, isDone }) => (
            <li key={label} className="flex min-h-11 items-center gap-3">
              {isDone ? (
                <CircleCheck aria-hidden="true" className="size-5 text-accent" />
              ) : (
                <CircleDashed aria-hidden="true" className="size-5 text-muted" />
              )}
              {isDone ? (
                <span className="text-muted">
                  {label} <span className="sr-only">(done)</span>
                </span>
              ) : (
                <Link
                  href={href}
                  className={label === next?.label ? buttonStyle("primary") : "font-medium text-muted hover:text-ink"}
                >
                  {label}
                </Link>
              )}
            </li>
          ))}
        </ol>
      </div>
      <FirstCall hasKey={hasKey} />
    </section>
  )
}

async function FirstCall({ hasKey }: { hasKey: boolean }) {
  const [metered, ...others] = await meteredEndpoints()
  const endpoint = metered ?? (await endpoints()).find(({ path }) => path === kinds.user.api)
  if (!endpoint) return null
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-2">
      {hasKey && (
        <p className="text-muted">
          Put your key into <code className="font-mono text-ink">{keyVariable}</code>, then send this in a terminal. If
          you did not store the key,{" "}
          <Link href={`${kinds.user.page}?new`} className="text-accent underline">
            create another one
          </Link>
          .
        </p>
      )}
      <CodePanel
        title="First API call"
        code={exampleRequest(endpoint, "curl", env().BASE_URL)}
        language="shell"
        surface="user"
      />
      {metered && <p className="text-xs text-muted">It costs at most {inCredits(metered.metered.maxCost)}.</p>}
      {hasKey && <CallLinks to={others} />}
    </div>
  )
}
