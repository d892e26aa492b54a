import { version } from "@/lib/platform/version"

export const dynamic = "force-dynamic"

export function GET(): Response {
  return Response.json({ status: "ok", version }, { headers: { "Cache-Control": "no-store" } })
}
