"use client"

import { usePathname } from "next/navigation"
import { MessagePage } from "@/components/message-page"
import { type Permission, permissions } from "@/lib/permissions"

/**
 * What an admin page shows to a viewer whose role does not open it. Only the browser tells the address here.
 * @param asked what each admin page asks for, by its address; a page below one asks for the same
 */
export function ForbiddenPage({ permissions: asked }: { permissions: Record<string, Permission | null> }) {
  const path = usePathname()
  const [page] = Object.keys(asked)
    .filter((href) => href !== "/admin" && (path === href || path.startsWith(`${href}/`)))
    .sort((one, other) => other.length - one.length)
  const permission = page && asked[page]
  if (!permission) {
    return (
      <MessagePage status="403" title="Your role opens no page of the administration">
        <p className="text-muted">Ask an owner or admin of this service for a role that does.</p>
      </MessagePage>
    )
  }
  return (
    <MessagePage status="403" title="Your role does not open this page">
      <p className="text-muted">
        It needs the permission <code className="font-mono text-ink">{permission}</code>: {permissions[permission]}. Ask
        an owner or admin of this service for a role that holds it.
      </p>
    </MessagePage>
  )
}
