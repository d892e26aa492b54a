import { notFound } from "next/navigation"
import { z } from "zod"
import { findKeyInConsole } from "@/lib/keys/data"
import { holds } from "@/lib/permissions"
import { requirePermission } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"

/** The 404 is the same for other keys and for keys that do not exist. */
export async function consoleKey(params: Promise<{ id: string }>, below = "") {
  const { id } = await params
  const page = `${kinds.admin.page}/${id}`
  const viewer = await requirePermission(page + below, kinds.admin.issuePermission)
  const listed = z.uuid().safeParse(id).success ? await findKeyInConsole(viewer, id) : null
  if (!listed) notFound()
  const mayReadOwner = listed.owner.id === viewer.id || holds(viewer.role, "users.read")
  return { viewer, listed, page, ownerEmail: mayReadOwner ? listed.owner.email : undefined }
}
