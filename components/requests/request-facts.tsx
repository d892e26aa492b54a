import type { ReactNode } from "react"
import { CodePanel } from "@/components/code/code-panel"
import { Count, None } from "@/components/list/cells"
import { ResponseStatus, shownMessage } from "@/components/list/request-cells"
import { CopyText } from "@/components/ui/copy-text"
import { Fact, Facts } from "@/components/ui/facts"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import { inCredits } from "@/lib/credits/words"
import { clockTime, plainDate } from "@/lib/platform/text/format-time"
import type { Request } from "@/lib/request-log/lists"
import type { Surface } from "@/lib/surfaces"

export function RequestFacts({
  request,
  account,
  apiKey,
  run,
  again,
}: {
  request: Request
  account?: ReactNode
  apiKey: ReactNode
  run: ReactNode
  again: { surface: Surface; title: string; curl: string; reference: string } | undefined
}) {
  const { id, requestId, createdAt, status, code, message, ms, rows, credits, address, userAgent, parameters } = request
  const time = new Date(createdAt)
  return (
    <>
      <Facts>
        <Fact label="Response" isWide={status >= 400}>
          <ResponseStatus status={status} code={code} />
          {message && (
            <p className="mt-1 wrap-anywhere">
              <Untrusted>{shownMessage(message)}</Untrusted>
            </p>
          )}
          {code && (
            <Link href={`/docs#${code}`} className="text-accent underline">
              This error in the documents
            </Link>
          )}
        </Fact>
        <Fact label="Time">
          <time dateTime={createdAt}>
            {plainDate(time)}, {clockTime(time)} UTC
          </time>
        </Fact>
        <Fact label="Duration">
          <Count value={ms} /> ms
        </Fact>
        {account && <Fact label="Account">{account}</Fact>}
        <Fact label="Key">{apiKey}</Fact>
        <Fact label="Credits">
          {inCredits(credits)}
          {run && <div>{run}</div>}
        </Fact>
        <Fact label="Rows">
          <Count value={rows} />
        </Fact>
        {again && (
          <Fact label="Endpoint">
            <Link href={again.reference} className="text-accent underline">
              Reference
            </Link>
          </Fact>
        )}
        <Fact label="IP address">{address ?? <None />}</Fact>
        <Fact label="User agent">
          {userAgent ? (
            <span className="wrap-anywhere">
              <Untrusted>{userAgent}</Untrusted>
            </span>
          ) : (
            <None />
          )}
        </Fact>
        <Fact label="Parameters">
          {parameters.length > 0 ? (
            <code className="font-mono text-xs wrap-anywhere">{parameters.join(", ")}</code>
          ) : (
            <None />
          )}
        </Fact>
        <Fact label="Request ID">
          <CopyText label="Copy the request ID">{id}</CopyText>
        </Fact>
        {requestId !== id && (
          <Fact label="X-Request-Id of the client">
            <code className="font-mono text-xs wrap-anywhere">
              <Untrusted>{requestId}</Untrusted>
            </code>
          </Fact>
        )}
      </Facts>
      {again && <CodePanel title={again.title} code={again.curl} language="shell" surface={again.surface} />}
    </>
  )
}
