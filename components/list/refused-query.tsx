import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { Untrusted } from "@/components/values/untrusted"

export function RefusedQuery({ message, page }: { message: string; page: string }) {
  return (
    <Notice tone="bad" role="alert">
      <Untrusted>{message}</Untrusted>{" "}
      <Link href={page} className="font-medium underline">
        Clear filters
      </Link>
    </Notice>
  )
}
