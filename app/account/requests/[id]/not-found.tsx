import { MessagePage } from "@/components/page/message-page"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { requestsPage } from "../request"

export default function RequestNotFound() {
  return (
    <MessagePage status="404" title="Request not found">
      <p className="text-muted">The log has no request with this ID and one of your keys.</p>
      <Link href={requestsPage} className={buttonStyle()}>
        View your requests
      </Link>
    </MessagePage>
  )
}
