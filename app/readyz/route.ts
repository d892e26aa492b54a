import { recentReadiness } from "@/lib/platform/postgres/readiness"

/** Redis is not checked, because requests succeed without it. */
export const dynamic = "force-dynamic"

export async function GET(): Promise<Response> {
  const { ready } = await recentReadiness()
  const headers = { "Cache-Control": "no-store" }
  if (ready) return Response.json({ status: "ready" }, { headers })
  return Response.json({ status: "not ready" }, { status: 503, headers: { ...headers, "Retry-After": "2" } })
}
