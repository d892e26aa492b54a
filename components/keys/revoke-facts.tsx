export type RevocableKey = {
  id: string
  name: string
  start: string
  /** Relative time; empty if the key was never used. */
  used: string
}

/** The key to revoke, its last use, and the effect of revoking it. */
export function RevokeFacts({ name, start, used }: RevocableKey) {
  return (
    <>
      <strong className="font-semibold text-ink wrap-anywhere">{name}</strong> (
      <code className="font-mono">{start}…</code>) {used ? `was last used ${used}.` : "was never used."} From now on,
      every request with this key is refused. This cannot be undone.
    </>
  )
}
