import type { Message } from "@/lib/form/action"
import { Link } from "../link"
import { Untrusted } from "../untrusted"

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
