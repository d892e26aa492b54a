import { ForbiddenPage } from "@/components/forbidden-page"
import { kinds } from "@/lib/keys/kinds"

export default function AdminKeysForbidden() {
  return <ForbiddenPage permission={kinds.admin.issuing} />
}
