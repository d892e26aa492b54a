import { mailbox } from "@/lib/platform/email/mailbox"
import { requireDevelopment } from "@/lib/platform/http/development"

/** The HTML part is shown alone, because its styles are inline. */
export async function GET(_request: Request, { params }: RouteContext<"/dev/mailbox/[id]">): Promise<Response> {
  await requireDevelopment()
  const { id } = await params
  const email = mailbox().find((kept) => kept.id === id)
  if (!email) return new Response("There is no such email.", { status: 404 })
  const headers = { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" }
  return new Response(email.html, { headers })
}
