import { ForbiddenPage } from "@/components/forbidden-page"
import { adminPermissions } from "@/components/navigation"

/** For every page of the area: names the permission that the page of this address asks for. */
export default async function AdminForbidden() {
  return <ForbiddenPage permissions={await adminPermissions()} />
}
