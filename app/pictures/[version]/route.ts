import { z } from "zod"
import { withFailures } from "@/lib/form/page-route"
import { findPicture } from "@/lib/pictures/pictures"
import { currentViewer } from "@/lib/sign-in/browser-session"

/** A new picture has a new version, so this response never changes. */
export const GET = withFailures(async (_request, { params }: RouteContext<"/pictures/[version]">) => {
  const { version } = await params
  const viewer = z.uuid().safeParse(version).success ? await currentViewer() : null
  const image = viewer && (await findPicture(version, viewer))
  if (!image) return new Response(null, { status: 404, headers: { "Cache-Control": "no-store" } })
  return new Response(image, {
    headers: {
      "Content-Type": "image/webp",
      "Content-Disposition": "inline",
      "Cache-Control": "private, max-age=31536000, immutable",
    },
  })
})
