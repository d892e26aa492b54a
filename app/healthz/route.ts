/** Whether the process answers: for whoever restarts it when it does not. */
export const dynamic = "force-dynamic"

export function GET(): Response {
  return Response.json({ status: "ok" }, { headers: { "Cache-Control": "no-store" } })
}
