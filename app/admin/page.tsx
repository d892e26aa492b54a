import { forbidden, redirect } from "next/navigation"
import { firstAdminPage } from "@/components/navigation"
import { requireViewer } from "@/lib/session"

/** Leads to the first admin page the viewer may open. */
export default async function AdminPage() {
  const { role } = await requireViewer("/admin")
  redirect((await firstAdminPage(role)) ?? forbidden())
}
