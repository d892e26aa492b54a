import { createHash, timingSafeEqual } from "node:crypto"
import { env } from "@/lib/env"
import { readClusterMetrics } from "@/lib/platform/telemetry/cluster-metrics"
import { metrics } from "@/lib/platform/telemetry/metrics"

export const dynamic = "force-dynamic"

export async function GET(request: Request): Promise<Response> {
  const token = env().METRICS_TOKEN
  if (!token) return new Response(null, { status: 404 })
  const given = /^bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? ""
  if (!isSame(given, token)) return new Response(null, { status: 401, headers: { "WWW-Authenticate": "Bearer" } })
  const text = await readClusterMetrics()
  if (text === undefined) return new Response(null, { status: 503, headers: { "Retry-After": "5" } })
  const headers = { "Content-Type": metrics().registry.contentType, "Cache-Control": "no-store" }
  return new Response(text, { headers })
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
