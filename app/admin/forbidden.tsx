import { ForbiddenPage } from "@/app/_shell/forbidden-page"
import { adminPermissions } from "@/app/_shell/sections"

export default async function AdminForbidden() {
  return <ForbiddenPage permissions={await adminPermissions()} />
}
