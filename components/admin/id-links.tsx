import { Id } from "@/components/list/cells"
import { Link } from "@/components/ui/link"
import { Untrusted, UntrustedEmail } from "@/components/values/untrusted"
import { isDeletedAddress } from "@/lib/platform/email/deleted-address"

export function AccountLink({ id, email }: { id: string; email: string | undefined }) {
  if (email === undefined) return <Id value={id} />
  const isDeleted = isDeletedAddress(email)
  return (
    <Link
      href={`/admin/users/${id}`}
      title={isDeleted ? email : undefined}
      className="line-clamp-2 max-w-96 wrap-anywhere underline decoration-line underline-offset-2 hover:decoration-current lg:min-w-52"
    >
      {isDeleted ? "Deleted account" : <UntrustedEmail>{email}</UntrustedEmail>}
    </Link>
  )
}

export function KeyLink({ id, name, list }: { id: string; name: string | undefined; list: string }) {
  return (
    <Link
      href={`${list}?keyId=${id}`}
      title={id}
      className="line-clamp-2 wrap-anywhere underline decoration-line underline-offset-2 hover:decoration-current lg:max-w-36 lg:min-w-20"
    >
      {name === undefined ? <Id value={id} /> : <Untrusted>{name}</Untrusted>}
    </Link>
  )
}
