import type { Report } from "@/lib/request-log/report"

/** What the numbers of a page do not have. */
export function Limits({ report: { unlogged, isLastUseMissing } }: { report: Report }) {
  return (
    <p className="text-muted">
      Requests are logged within a second. If a server crashes, its last second can be missing.{" "}
      {unlogged > 0 &&
        `${unlogged.toLocaleString("en")} ${unlogged === 1 ? "request" : "requests"} could not be logged, because the key was refused more than 300 times in a minute or the database was unavailable. `}
      {isLastUseMissing && "The key was last used while the log was off, so what it did then is not known."}
    </p>
  )
}
