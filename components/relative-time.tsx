import { absoluteTime, relativeTime } from "@/lib/time-words"

/** For server components: the words are those of the moment the page was made, so nothing can differ in the browser. */
export function RelativeTime({ date, now }: { date: Date; now: Date }) {
  return (
    <time dateTime={date.toISOString()} title={absoluteTime(date)} className="whitespace-nowrap">
      {relativeTime(date, now)}
    </time>
  )
}
