import { CircleCheck, CircleDashed } from "lucide-react"
import { endpoints, meteredEndpoints } from "@/app/api/v1/endpoints"
import { CallLinks } from "@/components/code/call-links"
import { CodePanel } from "@/components/code/code-panel"
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
  return (
    <section
      aria-label="Next steps"
      className="grid grid-cols-[minmax(0,1fr)] gap-3 rounded-lg border border-line bg-panel p-4"
    >
      <h2 className="font-medium">Next steps</h2>
      <ol className="grid gap-2">
        {steps.map(({ label, href, isDone }) => (
          <li key={label} className="flex items-center gap-2">
            {isDone ? (
              <CircleCheck aria-hidden="true" className="size-4 text-good" />
            ) : (
              <CircleDashed aria-hidden="true" className="size-4 text-muted" />
            )}
            {isDone ? (
              <span className="text-muted">
                {label} <span className="sr-only">(done)</span>
              </span>
            ) : (
              <Link href={href} className="font-medium text-accent hover:underline">
                {label}
              </Link>
            )}
          </li>
        ))}
      </ol>
      {hasKey && <FirstCall />}
    </section>
  )
}

async function FirstCall() {
  const [metered, ...others] = await meteredEndpoints()
  const endpoint = metered ?? (await endpoints()).find(({ path }) => path === kinds.user.api)
  if (!endpoint) return null
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <p className="text-muted">
        Put your key into <code className="font-mono text-ink">{keyVariable}</code>, then send this in a terminal.{" "}
        {metered && `It costs at most ${inCredits(metered.metered.maxCost)}. `}If you did not store the key,{" "}
        <Link href={`${kinds.user.page}?new`} className="text-accent underline">
          create another one
        </Link>
        .
      </p>
      <CodePanel title="First API call" code={exampleRequest(endpoint, "curl", env().BASE_URL)} />
      <CallLinks to={others} />
    </div>
  )
}
