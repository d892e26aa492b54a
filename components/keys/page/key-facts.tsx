import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/cells"
import { Fact, Facts } from "@/components/facts"
import { None } from "@/components/list/cells"
import { RelativeTime } from "@/components/relative-time"
import type { ListedKey } from "@/lib/keys/data"
import { healthOf, isUnscoped, problems } from "@/lib/keys/health"
import { networksInWords, revocationInWords, spendingInWords } from "@/lib/keys/words"
import { limits } from "@/lib/platform/rate-limit/rate-limit"

/** What a key is: who has it, what it may do, and what limits it. */
export function KeyFacts({
  listed,
  isOwn,
  ownerEmail,
  offered,
  now,
}: {
  listed: ListedKey
  isOwn: boolean
  /** The address of the owner, if the viewer may read it. */
  ownerEmail: string | undefined
  /** The scopes that the viewer can give to keys of its surface. */
  offered: readonly string[]
  now: Date
}) {
  const { id, surface, scopes, addresses, requestsPerMinute, spending, owner } = listed
  const { createdAt, lastUsedAt, expiresAt, revokedAt, revocationReason } = listed
  const found = healthOf(listed, offered, now)
  const time = (date: Date) => <RelativeTime date={date} now={now} />
  return (
    <Facts>
      {!isOwn && (
        <Fact label="Owner">
          <AccountLink id={owner.id} email={ownerEmail} />
        </Fact>
      )}
      <Fact label="Permissions">
        {isUnscoped(scopes, offered) ? "All permissions of its owner" : <Codes value={scopes ?? []} />}
      </Fact>
      <Fact label="Created">{time(createdAt)}</Fact>
      <Fact label="Last used">{lastUsedAt ? time(lastUsedAt) : "Never"}</Fact>
      {revokedAt ? (
        <Fact label="Revoked">
          {time(revokedAt)}
          {revocationReason && `: ${revocationInWords(listed).toLowerCase()}`}
        </Fact>
      ) : (
        <Fact label="Expires">{expiresAt ? time(expiresAt) : "Never"}</Fact>
      )}
      <Fact label="Requests per minute">{requestsPerMinute ?? limits.key.tokens}</Fact>
      <Fact label="Allowed IP addresses">
        {/* Those of other accounts are not shown: see rowKeyOf. */}
        {addresses === null ? "All" : isOwn ? <Codes value={addresses} /> : networksInWords(addresses)}
      </Fact>
      {surface === "user" && <Fact label="Spending limit">{spending ? spendingInWords(spending) : <None />}</Fact>}
      {found.length > 0 && (
        <Fact label="Health">
          <span className="text-warn">{found.map((problem) => problems[problem]).join(" · ")}</span>
        </Fact>
      )}
      <Fact label="ID">
        <code className="font-mono text-xs wrap-anywhere">{id}</code>
      </Fact>
    </Facts>
  )
}

function Codes({ value }: { value: readonly string[] }): ReactNode {
  return <code className="font-mono text-xs wrap-anywhere">{value.join(", ")}</code>
}
