import Link from "next/link"
import { RelativeTime } from "@/components/relative-time"
import { StatusBadge, type Tone } from "@/components/status-badge"

/** An account by its address where the viewer may read it, else by its id. */
export function AccountLink({ id, email }: { id: string; email: string | undefined }) {
  if (email === undefined) return <Id value={id} />
  return (
    <Link
      href={`/admin/users/${id}`}
      prefetch={false}
      className="block max-w-56 truncate underline decoration-line underline-offset-2 hover:decoration-current"
      title={email}
    >
      {email}
    </Link>
  )
}

/** Ids begin with their time: the end tells neighbours apart. */
export function Id({ value }: { value: string }) {
  return (
    <code title={value} className="font-mono text-xs whitespace-nowrap text-muted">
      …{value.slice(-12)}
    </code>
  )
}

export function Time({ at }: { at: string | null }) {
  return at === null ? <None /> : <RelativeTime date={new Date(at)} now={new Date()} />
}

export function Money({ amount, currency }: { amount: number; currency: string }) {
  return <span className="whitespace-nowrap">{money(amount, currency)}</span>
}

/** @param amount integer cents */
export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat("en", { style: "currency", currency }).format(amount / 100)
}

const count = new Intl.NumberFormat("en")

export function Count({ of }: { of: number }) {
  return <span className="whitespace-nowrap">{count.format(of)}</span>
}

/** Text of any length, cut where its column ends; the whole stands in its title. */
export function Text({ children }: { children: string | null }) {
  if (!children) return <None />
  return (
    <span title={children} className="line-clamp-2 max-w-80 wrap-anywhere">
      {children}
    </span>
  )
}

/** What an audit entry knows beyond its columns: names and values. */
export function Details({ of }: { of: unknown }) {
  const fields = typeof of === "object" && of !== null ? Object.entries(of) : []
  if (fields.length === 0) return <None />
  return <Text>{fields.map(([name, value]) => `${name}: ${value ?? "none"}`).join(", ")}</Text>
}

export function None() {
  return (
    <span className="text-muted">
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
}

export function Status({ of }: { of: string }) {
  return <StatusBadge tone={tones[of] ?? "off"}>{of.replaceAll("_", " ")}</StatusBadge>
}
