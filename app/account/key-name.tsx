import { KeyStart } from "@/components/keys/key-start"
import { Id } from "@/components/list/cells"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import type { NamedKey } from "@/lib/keys/data"

/** `hasStart` shows the first characters, which tell keys of the same name apart. */
export function KeyName({ id, keys, hasStart = false }: { id: string; keys: readonly NamedKey[]; hasStart?: boolean }) {
  const key = keys.find((key) => key.id === id)
  if (!key) return <Id value={id} />
  const { name, start, page } = key
  return (
    <span className="wrap-anywhere">
      {page ? (
        <Link href={page} className="underline decoration-line underline-offset-2 hover:decoration-current">
          <Untrusted>{name}</Untrusted>
        </Link>
      ) : (
        <Untrusted>{name}</Untrusted>
      )}
      {hasStart && (
        <span className="block max-lg:hidden">
          <KeyStart>{start}</KeyStart>
        </span>
      )}
    </span>
  )
}
