import { readiness } from "@/lib/postgres/readiness"

/** Whether requests should be sent here: for load balancers. The limits' store is not asked, for nothing fails without it. */
export const dynamic = "force-dynamic"

export async function GET(): Promise<Response> {
  const state = await readiness()
  const headers = { "Cache-Control": "no-store" }
  if (state.ready) return Response.json({ status: "ready" }, { headers })
  return Response.json(
    { status: "not ready", reason: state.reason },
    { status: 503, headers: { ...headers, "Retry-After": "2" } },
  )
}
