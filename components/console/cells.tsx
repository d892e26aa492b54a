import { Link } from "@/components/link"
import { Id, None, Text } from "@/components/list/cells"
import { Untrusted } from "@/components/untrusted"
import { visible } from "@/lib/visible-text"

/** Shows an account by its email address if the viewer may read it, otherwise by its id. */
export function AccountLink({ id, email }: { id: string; email: string | undefined }) {
  if (email === undefined) return <Id value={id} />
  return (
    <Link
      href={`/admin/users/${id}`}
      className="block max-w-56 truncate underline decoration-line underline-offset-2 hover:decoration-current"
      title={visible(email)}
    >
      <Untrusted>{email}</Untrusted>
    </Link>
  )
}

/** Shows a key by its id, and filters a list by it. */
export function KeyLink({ id, list }: { id: string; list: string }) {
  return (
    <Link
      href={`${list}?keyId=${id}`}
      className="underline decoration-line underline-offset-2 hover:decoration-current"
    >
      <Id value={id} />
    </Link>
  )
}

/** The details of an audit entry as `name: value` pairs. */
export function Details({ of }: { of: unknown }) {
  const fields = typeof of === "object" && of !== null ? Object.entries(of) : []
  if (fields.length === 0) return <None />
  return <Text>{fields.map(([name, value]) => `${name}: ${value ?? "none"}`).join(", ")}</Text>
}
