import { MessagePage } from "@/components/page/message-page"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"

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
