import { Choice, Moment } from "@/components/list/filter-fields"
import { Apply } from "@/components/list/filters"
import { QueryForm } from "@/components/list/query-form"
import { LinkChoice } from "@/components/ui/link-choice"
import { statsInterval } from "@/lib/metrics/periods"
import type { StatsSummary } from "@/lib/metrics/rows"
import { plainDate } from "@/lib/platform/text/format-time"

/** `applied` and `before` are undefined when the query was rejected. */
export function RangePicker({
  query,
  applied,
  before,
}: {
  query: URLSearchParams
  applied: StatsSummary | undefined
  before: StatsSummary | undefined
}) {
  const choices = presets(new Date()).map(({ label, search }) => ({
    label,
    href: search ? `/admin?${search}` : "/admin",
    isChosen: search === String(query),
  }))
  const given = {
    since: query.get("since") ?? applied?.since.slice(0, 10) ?? "",
    until: query.get("until") ?? applied?.until.slice(0, 10) ?? "",
    interval: query.get("interval") ?? applied?.interval ?? statsInterval.enum.day,
  }
  return (
    <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5 max-sm:w-full">
        <div className="max-sm:-mx-4 max-sm:-my-1 max-sm:overflow-x-auto max-sm:px-4 max-sm:py-1 max-sm:[&_ul]:flex-nowrap">
          <LinkChoice label="Range" choices={choices} />
        </div>
        {before && (
          <p className="text-xs text-muted">
            Compared with {plainDate(new Date(before.since))} – {plainDate(new Date(before.until))}
          </p>
        )}
      </div>
      {/* Folded on narrow screens only. */}
      <details
        open={!choices.some(({ isChosen }) => isChosen)}
        className="w-full sm:w-auto sm:details-content:[content-visibility:visible]"
      >
        <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink sm:supports-[selector(::details-content)]:hidden">
          Custom range
        </summary>
        <QueryForm
          action="/admin"
          query={String(new URLSearchParams(given))}
          role="search"
          aria-label="Range by date"
          className="grid w-full grid-cols-2 items-end gap-3 max-sm:pt-3 sm:flex sm:w-auto sm:[&>div]:w-36"
        >
          <Moment name="since" label="Since" given={given.since} />
          <Moment name="until" label="Until" given={given.until} />
          <Choice
            name="interval"
            label="Interval"
            given={given.interval}
            options={Object.fromEntries(statsInterval.options.map((interval) => [interval, `By ${interval}`]))}
          />
          {/* First, so that nothing moves when it is hidden. */}
          <Apply className="sm:-order-1" />
        </QueryForm>
      </details>
    </div>
  )
}

export function defaultRange(now: Date): string {
  const today = Math.floor(now.getTime() / day) * day
  const monday = today - ((now.getUTCDay() + 6) % 7) * day
  return `since=${new Date(monday - 12 * 7 * day).toISOString().slice(0, 10)}&interval=week`
}

const day = 86_400_000

function presets(now: Date): { label: string; search: string }[] {
  const monthsAgo = (months: number) => {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1))
    return start.toISOString().slice(0, 10)
  }
  const daysAgo = (days: number) => new Date(now.getTime() - days * day).toISOString().slice(0, 10)
  return [
    { label: "30 days", search: `since=${daysAgo(29)}` },
    { label: "13 weeks", search: "" },
    { label: "12 months", search: `since=${monthsAgo(11)}&interval=month` },
    { label: "24 months", search: `since=${monthsAgo(23)}&interval=month` },
    { label: "This year", search: `since=${now.getUTCFullYear()}-01-01&interval=month` },
  ]
}
