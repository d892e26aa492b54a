import { ForbiddenPage } from "@/app/_shell/forbidden-page"
import { adminPermissions } from "@/app/_shell/sections"

/** The 403 page of the admin area, which names the permission that the requested page requires. */
export default async function AdminForbidden() {
  return <ForbiddenPage permissions={await adminPermissions()} />
}
