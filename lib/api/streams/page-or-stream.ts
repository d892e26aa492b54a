import { holds, type Permission } from "@/lib/permissions"
import type { WithinDeadline } from "@/lib/platform/postgres/deadline"
import { type Access, authorizeAgain, type Caller, requireCallerPermission } from "../authenticate"
import { listEnvelope } from "../envelope"
import { Refusal, refuseAs } from "../errors"
import { type Body, type Draft, type StreamedBody, setAll } from "../respond"
import { type StreamFormat, streamFormatIn, streamHeaders } from "./formats"
import type { Reader } from "./stream"

export type Context = { caller: Caller; access: Access; withinDeadline: WithinDeadline; draft: Draft }

/** Throws a Refusal if the reader lacks a permission that a query needs besides the endpoint's own. */
export type PermissionCheck = (permission: Permission) => void

/** Whether the reader has a permission without which fields are null. Losing it later ends a stream. */
export function has(checkPermission: PermissionCheck, permission: Permission): boolean {
  try {
    checkPermission(permission)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** What a person of a role may checkPermission on a page. */
export function permissionCheckOf(role: string): PermissionCheck {
  return (permission) => {
    if (!holds(role, permission)) refuseAs("forbidden", `Your role lacks the permission ${permission}.`)
  }
}

/** Responds with a page of rows or, to a client that prefers one of their formats, with a stream of all. */
export async function pageOrStream(
  request: Request,
  { caller, access, withinDeadline, draft }: Context,
  rows: {
    page: (checkPermission: PermissionCheck) => Promise<{ data: readonly unknown[]; meta: object }>
    stream: (checkPermission: PermissionCheck, format: StreamFormat, reader: Reader) => Promise<StreamedBody>
  },
): Promise<Body> {
  const checked = new Set<Permission>()
  const checkPermission: PermissionCheck = (permission) => {
    requireCallerPermission(caller, permission)
    checked.add(permission)
  }
  setAll(draft.headers, { Vary: "Accept" })
  const format = streamFormatIn(request.headers)
  if (!format) {
    const page = await withinDeadline(() => rows.page(checkPermission))
    draft.rows = page.data.length
    return listEnvelope(page)
  }
  const { owner, key } = caller
  const body = await rows.stream(checkPermission, format, {
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
  })
  setAll(draft.headers, streamHeaders(format))
  return body
}

/** A stream has all rows: with a part of them it would look complete to a client that forgot about the parameter. */
export function refusePaging(search: string, { type }: StreamFormat): void {
  const given = new URLSearchParams(search)
  for (const name of ["limit", "offset", "cursor"]) {
    if (!given.has(name)) continue
    refuseAs(
      "bad_request",
      `${name} selects a page, but as ${type} a list has all rows. Leave it out and narrow the list with since, until and filters, or send Accept: application/json.`,
    )
  }
}
