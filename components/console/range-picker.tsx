import Form from "next/form"
import { Button } from "@/components/button"
import { Link } from "@/components/link"
import { Choice, Moment } from "@/components/list/filters"
import { defaultStatsDays, statsInterval } from "@/lib/stats/periods"
import type { StatsSummary } from "@/lib/stats/rows"

/**
 * Preset ranges, and a form for any other range.
 * @param applied the range shown; undefined when the query was rejected
 */
export function RangePicker({ query, applied }: { query: URLSearchParams; applied: StatsSummary | undefined }) {
  return (
    <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <nav aria-label="Range">
        <ul className="flex flex-wrap gap-1">
          {presets(new Date()).map(({ label, search }) => (
            <li key={label}>
              <Link
                href={search ? `/admin?${search}` : "/admin"}
                aria-current={search === String(query) ? "true" : undefined}
                className="flex h-9 items-center rounded-md px-2.5 font-medium text-muted hover:bg-sunken hover:text-ink sm:h-8 aria-[current=true]:bg-accent/10 aria-[current=true]:text-accent"
              >
                {label}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Form
        action="/admin"
        key={String(query)}
        role="search"
        aria-label="Range by date"
        className="grid w-full grid-cols-2 items-end gap-3 sm:flex sm:w-auto"
      >
        <Moment name="since" label="Since" given={query.get("since") ?? applied?.since.slice(0, 10) ?? ""} />
        <Moment name="until" label="Until" given={query.get("until") ?? applied?.until.slice(0, 10) ?? ""} />
        <Choice
          name="interval"
          label="Interval"
          given={query.get("interval") ?? statsInterval.enum.day}
          options={Object.fromEntries(statsInterval.options.map((interval) => [interval, `By ${interval}`]))}
        />
        <Button type="submit">Apply</Button>
      </Form>
    </div>
  )
}

function presets(now: Date): { label: string; search: string }[] {
  const monthsAgo = (months: number) => {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1))
    return start.toISOString().slice(0, 10)
  }
  const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10)
  return [
    { label: `${defaultStatsDays} days`, search: "" },
    { label: "13 weeks", search: `since=${daysAgo(91)}&interval=week` },
    { label: "12 months", search: `since=${monthsAgo(11)}&interval=month` },
    { label: "24 months", search: `since=${monthsAgo(23)}&interval=month` },
    { label: "This year", search: `since=${now.getUTCFullYear()}-01-01&interval=month` },
  ]
}
