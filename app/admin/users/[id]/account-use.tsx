import { GET } from "@/app/api/v1/admin/requests/route"
import { Chart } from "@/components/chart/chart"
import { daysIn, lastDays } from "@/components/chart/days"
import { valuesSince } from "@/components/chart/periods"
import { ask } from "@/lib/metrics/ask"
import { periodsOf } from "@/lib/metrics/periods"
import { holds } from "@/lib/permissions"
import { fromStandby } from "@/lib/platform/postgres/standbys"
import type { Viewer } from "@/lib/sign-in/browser-session"

export const shownDays = 30

export type Use = { requests: number[]; errors: number[] }

export async function useOf(account: string, { role, written }: Pick<Viewer, "role" | "written">): Promise<Use | null> {
  const { permission, metrics: family } = GET.endpoint
  if (!family || !holds(role, permission)) return null
  const measures = ["requests", "errors"] as const
  const question = { family, measures, by: [], unit: "day", where: { account }, ...lastDays(shownDays) } as const
  const { rows } = await fromStandby(() => ask(question), written)
  const valuesOf = (name: (typeof measures)[number]) => rows.map(({ measures }) => measures[name] ?? 0)
  return { requests: valuesOf("requests"), errors: valuesOf("errors") }
}

export function UseChart({ requests, errors, createdAt }: Use & { createdAt: Date }) {
  const range = lastDays(shownDays)
  const starts = periodsOf(range.since, range.until, "day").map(({ start }) => new Date(start))
  return (
    <Chart
      title="Requests by day (UTC)"
      kind="bar"
      unit="count"
      periods={daysIn(range)}
      areParts
      series={[
        {
          label: "Succeeded",
          values: valuesSince(
            createdAt,
            starts,
            requests.map((count, index) => count - (errors[index] ?? 0)),
          ),
        },
        { label: "Failed", isFailure: true, values: valuesSince(createdAt, starts, errors) },
      ]}
    />
  )
}
