import { MessagePage } from "@/components/page/message-page"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { kinds } from "@/lib/surfaces"

export default function KeyNotFound() {
  return (
    <MessagePage status="404" title="Key not found">
      <p className="text-muted">There is no key with this ID that your role may see.</p>
      <Link href={kinds.admin.page} className={buttonStyle()}>
        View admin keys
      </Link>
    </MessagePage>
  )
}
