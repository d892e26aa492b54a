import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/id-links"
import { Count, Id, None } from "@/components/list/cells"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import { graces, revocationReasons, spendPeriods } from "@/lib/keys/choices"
import { absoluteTime } from "@/lib/platform/text/format-time"
import { sentenceInLog } from "@/lib/sign-in/activity"
import type { Related } from "./related"

export function Action(entry: { action: string; details?: unknown }) {
  return (
    <div className="lg:min-w-40">
      <Untrusted>{sentenceInLog(entry)}</Untrusted>
      <code className="block font-mono text-xs text-muted max-lg:hidden">{entry.action}</code>
    </div>
  )
}

export function Target({ type, id, related }: { type: string; id: string; related: Related }) {
  if (type === "api_key") return <Key id={id} keys={related.keys} />
  const page = related.pages.get(type)
  if (!page) return <Id value={id} />
  return (
    <Link href={`${page}?q=${id}`} className={linkStyle}>
      <Id value={id} />
    </Link>
  )
}

function Key({ id, keys }: { id: string; keys: Related["keys"] }) {
  const key = keys.get(id)
  if (!key) return <Id value={id} />
  return (
    <Link href={key.page} className={`wrap-anywhere ${linkStyle}`}>
      <Untrusted>{key.name}</Untrusted>
    </Link>
  )
}

const linkStyle = "underline decoration-line underline-offset-2 hover:decoration-current"

/** Two lines: of more details, the second one has the number of the others. */
const inView = 2

export function Details({ value, related }: { value: unknown; related: Related }) {
  const fields = (value ?? {}) as Record<string, unknown>
  // The reason of a revocation is a code; every other reason is text that staff typed.
  const given = Object.entries(fields).map(([name, value]) =>
    name === "reason" && "ownerId" in fields ? (["revocationReason", value] as const) : ([name, value] as const),
  )
  if (given.length === 0) return <None />
  const ranks = Object.keys(labels)
  const rank = (name: string) => (Object.hasOwn(labels, name) ? ranks.indexOf(name) : ranks.length)
  // Absent values, such as an unset limit, come last.
  const pairs = given.sort(
    ([one, value], [other, another]) => Number(value === null) - Number(another === null) || rank(one) - rank(other),
  )
  const shown = pairs.slice(0, pairs.length > inView ? inView - 1 : inView)
  const rest = pairs.slice(shown.length)
  return (
    <div className="grid justify-items-start text-xs max-lg:flex max-lg:flex-wrap max-lg:gap-x-3 lg:min-w-52">
      <Pairs pairs={shown} related={related} />
      {rest.length > 0 && (
        <details className="group/details">
          <summary className="cursor-pointer text-muted hover:text-ink">
            {rest.length} more<span className="sr-only"> details</span>
          </summary>
          <div className="pt-0.5">
            <Pairs pairs={rest} related={related} />
          </div>
        </details>
      )}
    </div>
  )
}

function Pairs({ pairs, related }: { pairs: readonly (readonly [string, unknown])[]; related: Related }) {
  return (
    <dl className="grid max-lg:flex max-lg:flex-wrap max-lg:gap-x-3">
      {pairs.map(([name, value]) => (
        <div key={name} className="flex flex-wrap gap-x-1.5">
          <dt className="text-muted">{Object.hasOwn(labels, name) ? labels[name] : name}</dt>
          <dd className="min-w-0 wrap-anywhere [&_a]:min-w-0">{shownValue(name, value, related)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** In the order of display, the most telling first. */
const labels: Readonly<Record<string, string>> = {
  from: "From",
  to: "To",
  amount: "Credits",
  reason: "Reason",
  revocationReason: "Reason",
  balance: "Balance after",
  grace: "Old key works for",
  successorId: "Replaced by",
  feedbackId: "Feedback",
  via: "With",
  provider: "Provider",
  address: "IP address",
  count: "Browsers",
  expiresAt: "Expires",
  dueAt: "Deleted on",
  start: "Key",
  surface: "Type of key",
  spendLimit: "Spending limit",
  spendPeriod: "Limit counts",
  requestsPerMinute: "Requests per minute",
  addresses: "Allowed IP addresses",
  addressesChanged: "IP addresses changed",
  scopes: "Permissions",
  ownerId: "Owner",
}

const texts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  revocationReason: revocationReasons,
  grace: Object.fromEntries(
    Object.entries(graces).map(([grace, { label, hours }]) => [grace, hours > 0 ? label : "no time"]),
  ),
  spendPeriod: spendPeriods,
  surface: { admin: "Admin key", user: "API key" },
}

function shownValue(name: string, value: unknown, related: Related): ReactNode {
  if (value === null) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value === "number") return <Count value={value} />
  const text = String(value)
  if (name === "ownerId") return <AccountLink id={text} email={related.owners.get(text)} />
  if (name === "successorId") return <Key id={text} keys={related.keys} />
  if (name === "feedbackId") return <Target type="feedback" id={text} related={related} />
  if (name === "expiresAt" || name === "dueAt") return absoluteTime(new Date(text))
  if (name === "start") return <code className="font-mono">{text}…</code>
  const named = Object.hasOwn(texts, name) ? texts[name] : undefined
  return <Untrusted>{named && Object.hasOwn(named, text) ? String(named[text]) : text}</Untrusted>
}
