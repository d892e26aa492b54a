import { Link } from "@/components/link"
import { Id, None, Text } from "@/components/list/cells"

/** An account by its address where the viewer may read it, else by its id. */
export function AccountLink({ id, email }: { id: string; email: string | undefined }) {
  if (email === undefined) return <Id value={id} />
  return (
    <Link
      href={`/admin/users/${id}`}
      className="block max-w-56 truncate underline decoration-line underline-offset-2 hover:decoration-current"
      title={email}
    >
      {email}
    </Link>
  )
}

/** What an audit entry knows beyond its columns: names and values. */
export function Details({ of }: { of: unknown }) {
  const fields = typeof of === "object" && of !== null ? Object.entries(of) : []
  if (fields.length === 0) return <None />
  return <Text>{fields.map(([name, value]) => `${name}: ${value ?? "none"}`).join(", ")}</Text>
}
