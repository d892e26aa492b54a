import { readiness } from "@/lib/postgres/readiness"

/** The readiness probe for load balancers. Redis is not checked, because requests succeed without it. */
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
