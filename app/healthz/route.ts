import { version } from "@/lib/platform/version"

/** The liveness probe: a process that does not respond should be restarted. */
export const dynamic = "force-dynamic"

export function GET(): Response {
  return Response.json({ status: "ok", version }, { headers: { "Cache-Control": "no-store" } })
}
