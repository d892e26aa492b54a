import { visible } from "@/lib/platform/text/visible-text"

/** Text that a person or a client wrote: nothing in it is hidden, and it does not reorder the text around it. */
export function Untrusted({ children }: { children: string }) {
  return <bdi>{visible(children)}</bdi>
}

export function UntrustedStrong({ children }: { children: string }) {
  return (
    <strong className="font-semibold wrap-anywhere">
      <Untrusted>{children}</Untrusted>
    </strong>
  )
}

/** An email address, which breaks before its @ rather than within a word. */
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
