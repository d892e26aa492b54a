import { ForbiddenPage } from "@/app/_shell/forbidden-page"
import { adminPermissions } from "@/app/_shell/sections"

/** For every page of the area: names the permission that the page of this address asks for. */
export default async function AdminForbidden() {
  return <ForbiddenPage permissions={await adminPermissions()} />
}
