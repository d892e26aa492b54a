import { savePicture } from "@/lib/pictures/pictures"
import { pageAfter } from "@/lib/pictures/upload"
import { isSameOrigin } from "@/lib/platform/http/origin"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { overloaded } from "@/lib/platform/postgres/load-shedding"
import { currentViewer } from "@/lib/sign-in/browser-session"

/** Not a server action: Next decodes the whole form of an action before the action can ask who sent it. */
export async function POST(request: Request) {
  if (!(await isSameOrigin())) return new Response("This form was not sent from this site.", { status: 403 })
  try {
    const viewer = await currentViewer()
    if (!viewer) return seeOther("/sign-in?callbackUrl=/account/settings")
    return seeOther(pageAfter(await savePicture(viewer.id, () => fileOf(request))))
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    return new Response(overloaded.message, { status: 503, headers: overloaded.headers })
  }
}

async function fileOf(request: Request): Promise<File | null> {
  const form = await request.formData().catch(() => null)
  const file = form?.get("picture")
  return file instanceof File ? file : null
}

function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { location } })
}
