import { MessagePage } from "@/components/page/message-page"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { kinds } from "@/lib/surfaces"

export default function KeyNotFound() {
  return (
    <MessagePage status="404" title="Key not found">
      <p className="text-muted">You have no key with this ID.</p>
      <Link href={kinds.user.page} className={buttonStyle()}>
        View your keys
      </Link>
    </MessagePage>
  )
}
