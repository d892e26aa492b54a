import { visible } from "@/lib/visible-text"

/** Text that a person or a client wrote: nothing in it is hidden, and it does not reorder the text around it. */
export function Untrusted({ children }: { children: string }) {
  return <bdi>{visible(children)}</bdi>
}
