import type { ReactNode } from "react"
import { Count, None } from "@/components/list/cells"
import { Outcome } from "@/components/list/request-cells"
import { CopyField } from "@/components/ui/copy-field"
import { CopyText } from "@/components/ui/copy-text"
import { Fact, Facts } from "@/components/ui/facts"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import { inCredits } from "@/lib/credits/words"
import { clockTime, plainDate } from "@/lib/platform/text/format-time"
import type { Request } from "@/lib/request-log/lists"

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
  again: { curl: string; reference: string } | undefined
}) {
  const { id, requestId, createdAt, status, code, message, ms, rows, credits, address, userAgent, parameters } = request
  const time = new Date(createdAt)
  return (
    <>
      <Facts>
        <div className="sm:col-span-2 lg:col-span-3">
          <Fact label="Response">
            <Outcome status={status} code={code} />
            {message && (
              <p className="mt-1 wrap-anywhere">
                <Untrusted>{message}</Untrusted>
              </p>
            )}
            {code && (
              <Link href="/docs#errors" className="text-accent underline">
                Errors in the documents
              </Link>
            )}
          </Fact>
        </div>
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
        {again && (
          <Fact label="Endpoint">
            <Link href={again.reference} className="text-accent underline">
              Reference
            </Link>
          </Fact>
        )}
      </Facts>
      {again && <CopyField id="request-as-curl" label="As curl" value={again.curl} copy="Copy as curl" lines={2} />}
    </>
  )
}
