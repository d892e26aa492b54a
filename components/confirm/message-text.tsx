import { Link } from "@/components/link"
import { Untrusted } from "@/components/untrusted"
import type { Message } from "@/lib/form/action"

/** A message, which can name what was changed. */
export function MessageText({ message }: { message: Message }) {
  if (typeof message === "string") return <Untrusted>{message}</Untrusted>
  return (
    <>
      <Untrusted>{message.text}</Untrusted>{" "}
      <Link href={message.href} className="font-medium underline">
        {message.link}
      </Link>
    </>
  )
}
