"use client"

import { usePathname } from "next/navigation"
import { MessagePage } from "@/components/page/message-page"
import { type Permission, permissions } from "@/lib/permissions"

/** A `forbidden` file gets no path on the server, so the path is read in the browser. */
export function ForbiddenPage({ permissions: required }: { permissions: Record<string, Permission | null> }) {
  const path = usePathname()
  const [page] = Object.keys(required)
    .filter((href) => href !== "/admin" && (path === href || path.startsWith(`${href}/`)))
    .sort((one, other) => other.length - one.length)
  const permission = page && required[page]
  if (!permission) {
    return (
      <MessagePage status="403" title="Your role has no access to any admin page">
        <p className="text-muted">Ask an owner or admin of this service for a role with access.</p>
      </MessagePage>
    )
  }
  return (
    <MessagePage status="403" title="Your role has no access to this page">
      <p className="text-muted">
        This page requires the permission <code className="font-mono text-ink">{permission}</code>:{" "}
        {permissions[permission]}. Ask an owner or admin of this service for a role that has it.
      </p>
    </MessagePage>
  )
}
