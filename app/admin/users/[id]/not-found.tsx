import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { MessagePage } from "@/components/message-page"

export default function AccountNotFound() {
  return (
    <MessagePage status="404" title="Account not found">
      <p className="text-muted">Check the URL: it must contain the full account ID.</p>
      <Link href="/admin/users" className={buttonStyle()}>
        View all accounts
      </Link>
    </MessagePage>
  )
}
