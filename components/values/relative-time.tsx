import { absoluteTime, relativeTime } from "@/lib/platform/text/format-time"

/** Server components only: rendered again in the browser, the text could differ and break hydration. */
export function RelativeTime({ date, now }: { date: Date; now: Date }) {
  return (
    <time dateTime={date.toISOString()} title={absoluteTime(date)} className="whitespace-nowrap">
      {relativeTime(date, now)}
    </time>
  )
}
