import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import type { Message } from "@/lib/form/action"

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
