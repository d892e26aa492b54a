import type { ReactNode } from "react"
import { StatusBadge, type Tone } from "@/components/ui/status-badge"
import { Breakable } from "@/components/values/breakable"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import { absoluteTime, clockTime, plainDate } from "@/lib/platform/text/format-time"
import { withMinus } from "@/lib/platform/text/minus"
import { money } from "@/lib/platform/text/money"
import { visible } from "@/lib/platform/text/visible-text"
import { inWords } from "@/lib/platform/text/words"
import { tones as yours } from "@/lib/yours/tones"

/** Shows the end: UUIDs start with a timestamp, so ids of neighboring rows differ only at the end. */
export function Id({ value }: { value: string }) {
  return (
    <code title={value} className="font-mono text-xs whitespace-nowrap text-muted">
      …{value.slice(-12)}
    </code>
  )
}

/** How long ago, or until then: for "Last used" and "Expires". Events have dates. */
export function Time({ at }: { at: string | null }) {
  return at === null ? <None /> : <RelativeTime date={new Date(at)} now={new Date()} />
}

/** The day in UTC, with the time as its tooltip. */
export function Day({ at }: { at: string | null }) {
  return at === null ? <None /> : <Dated at={at} title={absoluteTime(new Date(at))} />
}

/** The day and the time to the second, in UTC, as the head of the column says: many entries of a log are of the same minute. */
export function Moment({ at }: { at: string }) {
  return (
    <Dated at={at}>
      {" "}
      {clockTime(new Date(at))}
      <span className="lg:hidden"> UTC</span>
    </Dated>
  )
}

function Dated({ at, title, children }: { at: string; title?: string; children?: ReactNode }) {
  return (
    <time dateTime={at} title={title} className="whitespace-nowrap">
      {plainDate(new Date(at))}
      {children && <span className="text-muted lg:block lg:text-xs">{children}</span>}
    </time>
  )
}

export function Money({ amount, currency }: { amount: number; currency: string }) {
  return <span className="whitespace-nowrap">{money(amount, currency)}</span>
}

const count = new Intl.NumberFormat("en")

export function Count({ value }: { value: number }) {
  return <span className="whitespace-nowrap">{count.format(value)}</span>
}

const change = new Intl.NumberFormat("en", { signDisplay: "exceptZero" })

export function SignedCount({ value }: { value: number }) {
  return <span className="whitespace-nowrap">{withMinus(change.format(value))}</span>
}

export function Text({ children }: { children: string | null }) {
  if (!children) return <None />
  return (
    <span
      title={visible(children)}
      className="text-pretty wrap-anywhere lg:line-clamp-2 lg:max-w-80 min-[90rem]:max-w-120"
    >
      <Untrusted>{children}</Untrusted>
    </span>
  )
}

export function None() {
  return (
    <span data-none className="text-muted">
      <span aria-hidden="true">–</span>
      <span className="sr-only">none</span>
    </span>
  )
}

const tones: Record<string, Tone> = {
  active: "good",
  paid: "good",
  sent: "good",
  joined: "good",
  resolved: "good",
  trialing: "warn",
  past_due: "warn",
  pending: "warn",
  partially_refunded: "warn",
  new: "warn",
  invited: "warn",
  banned: "bad",
  failed: "bad",
  ...yours,
}

export function Status({ value }: { value: string }) {
  return <StatusBadge tone={tones[value] ?? "off"}>{inWords(value)}</StatusBadge>
}

export function ReadableId({ value }: { value: string }) {
  return <Breakable after="_">{value}</Breakable>
}
