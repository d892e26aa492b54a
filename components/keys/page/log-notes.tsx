import { env } from "@/lib/env"
import { usageDays } from "@/lib/keys/choices"
import type { Report } from "@/lib/request-log/report"
import { failuresPerMinute } from "@/lib/request-log/write"

/** How long the numbers of a page are kept, and what they do not have. */
export function LogNotes({ report: { unlogged, isLastUseMissing } }: { report: Report }) {
  const { REQUEST_LOG_DAYS: days } = env()
  return (
    <p className="max-w-3xl text-muted">
      {days === 0
        ? "The request log is off: requests are not logged. "
        : `Requests are logged within a second and kept for ${days} days. If a server crashes, the requests of its last second can be missing. `}
      Usage by hour and day is kept for {usageDays} days, and totals by endpoint and IP address until {usageDays} days
      after the end of the key.{" "}
      {unlogged > 0 &&
        `In the last ${usageDays} days, ${unlogged.toLocaleString("en")} ${unlogged === 1 ? "request was" : "requests were"} not logged, because more than ${failuresPerMinute} of the key, its account or one IP address failed within a minute, the key had ended long before, or the database was unavailable. `}
      {isLastUseMissing && "The last use of the key is not in the log."}
    </p>
  )
}
