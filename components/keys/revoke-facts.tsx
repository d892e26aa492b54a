export type RevocableKey = { id: string; name: string; start: string /** In words; empty when never. */; used: string }

/** What revoking a key destroys. */
export function RevokeFacts({ name, start, used }: RevocableKey) {
  return (
    <>
      <strong className="font-semibold text-ink wrap-anywhere">{name}</strong> (
      <code className="font-mono">{start}…</code>) {used ? `was last used ${used}.` : "was never used."} From the next
      request on, everything that still sends this key is refused. This cannot be undone.
    </>
  )
}
