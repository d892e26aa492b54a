import { visible } from "@/lib/platform/text/visible-text"
import type { AtProvider } from "@/lib/purchases/provider-objects"

/** Of a payment or subscription at its provider; of a purchase that was paid elsewhere, the number of its invoice. */
export function ProviderLink({ of }: { of: AtProvider | undefined }) {
  if (!of) return null
  const id = visible(of.id)
  const shown = <code className="block w-fit max-w-24 truncate font-mono text-xs">{id}</code>
  if (!of.url) return <span title={id}>{shown}</span>
  return (
    <a href={of.url} title={id} target="_blank" rel="noreferrer" className="block w-fit text-accent underline">
      {shown}
    </a>
  )
}
