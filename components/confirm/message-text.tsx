import type { Message } from "@/lib/form/action"
import { Link } from "../link"

export function MessageText({ message }: { message: Message }) {
  if (typeof message === "string") return message
  return (
    <>
      {message.text}{" "}
      <Link href={message.href} className="font-medium underline">
        {message.link}
      </Link>
    </>
  )
}
