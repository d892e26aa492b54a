import { type Permission, permissions } from "@/lib/permissions"
import { MessagePage } from "./message-page"

/** What a page that asks for `permission` shows to a viewer whose role lacks it. */
export function ForbiddenPage({ permission }: { permission: Permission }) {
  return (
    <MessagePage status="403" title="Your role does not open this page">
      <p className="text-muted">
        It needs the permission <code className="font-mono text-ink">{permission}</code>: {permissions[permission]}. Ask
        an owner or admin of this service for a role that holds it.
      </p>
    </MessagePage>
  )
}
