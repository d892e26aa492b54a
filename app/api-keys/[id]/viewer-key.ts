import { notFound } from "next/navigation"
import { z } from "zod"
import { findKey } from "@/lib/keys/data"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"

/** The 404 is the same for other keys and for keys that do not exist. */
export async function viewerKey(params: Promise<{ id: string }>, below = "") {
  const { id } = await params
  const page = `${kinds.user.page}/${id}`
  const viewer = await requireViewer(page + below)
  const listed = z.uuid().safeParse(id).success ? await findKey("user", viewer, id) : null
  if (!listed) notFound()
  return { viewer, listed, page }
}
