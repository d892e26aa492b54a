import { MessagePage } from "@/components/message-page"

/** For the area as a whole: a page names the permission it asks for in its own file. */
export default function AdminForbidden() {
  return (
    <MessagePage status="403" title="Your role opens no page of the administration">
      <p className="text-muted">Ask an owner or admin of this service for a role that does.</p>
    </MessagePage>
  )
}
