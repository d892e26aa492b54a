import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { MessagePage } from "@/components/message-page"

export default function AccountNotFound() {
  return (
    <MessagePage status="404" title="There is no such account">
      <p className="text-muted">The address may be mistyped: an account’s page is named by its whole id.</p>
      <Link href="/admin/users" className={buttonStyle()}>
        To all accounts
      </Link>
    </MessagePage>
  )
}
