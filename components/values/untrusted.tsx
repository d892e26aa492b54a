import { visible } from "@/lib/platform/text/visible-text"

/** Text from a person or a client: nothing in it is hidden, and it cannot reorder the text around it. */
export function Untrusted({ children }: { children: string }) {
  return <bdi>{visible(children)}</bdi>
}

export function UntrustedStrong({ children }: { children: string }) {
  return (
    <strong className="font-semibold text-ink wrap-anywhere">
      <Untrusted>{children}</Untrusted>
    </strong>
  )
}

export function UntrustedEmail({ children }: { children: string }) {
  const at = children.lastIndexOf("@")
  return (
    <bdi>
      {visible(children.slice(0, at))}
      <wbr />
      {visible(children.slice(at))}
    </bdi>
  )
}
