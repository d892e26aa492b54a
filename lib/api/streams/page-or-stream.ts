import { holds, type Permission } from "@/lib/permissions"
import { authorizeAgain, requireCallerPermission } from "../authenticate"
import type { Call } from "../endpoint"
import { Refusal, refuseAs } from "../errors"
import { setAll } from "../respond"
import { ours, said } from "../said"
import { formatOf, type StreamFormat } from "./formats"
import type { Reader } from "./stream"

/** @throws Refusal without the permission */
export type PermissionCheck = (permission: Permission) => void

/** A stream ends when its reader loses the permission. */
export function has(checkPermission: PermissionCheck, permission: Permission): boolean {
  try {
    checkPermission(permission)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

export function permissionCheckOf(role: string): PermissionCheck {
  return (permission) => {
    if (!holds(role, permission)) refuseAs("forbidden", said`Your role lacks the permission ${permission}.`)
  }
}

/** `checkPermission` is for permissions that only some queries need; a stream checks them again while it runs. */
export function readingOf({ request, caller, access, withinDeadline, draft }: Call): {
  format: StreamFormat | undefined
  checkPermission: PermissionCheck
  reader: Reader
} {
  setAll(draft.headers, { Vary: "Accept" })
  const checked = new Set<Permission>()
  const { owner, key } = caller
  return {
    format: formatOf(request),
    checkPermission: (permission) => {
      requireCallerPermission(caller, permission)
      checked.add(permission)
    },
    reader: {
      // All keys of a customer are one reader.
      ...(access.surface === "user" ? { id: owner.id, kind: "customer" } : { id: key.id, kind: "operator" }),
      account: owner.id,
      request,
      requestId: draft.headers["x-request-id"] ?? "",
      withinDeadline,
      check: async () => {
        const again = await authorizeAgain(request.headers, caller, access)
        for (const permission of checked) requireCallerPermission(again, permission)
      },
    },
  }
}

/** A stream with only some rows would look complete to a client that forgot the parameter. */
export function refusePaging(search: string, { type }: StreamFormat): void {
  const given = new URLSearchParams(search)
  for (const name of ["limit", "offset", "cursor"]) {
    if (!given.has(name)) continue
    refuseAs(
      "bad_request",
      said`${name} selects a page, but as ${ours(type)} a list has all rows. Leave it out and narrow the list with since, until and filters, or send Accept: application/json.`,
    )
  }
}
