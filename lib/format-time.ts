const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })
const dateTime = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
const toTheSecond = new Intl.DateTimeFormat("en-GB", {
  ...{ day: "numeric", month: "short", timeZone: "UTC" },
  ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
})
const dateOnly = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" })

/** "3 days ago", "in 89 days": days up to about three months, because key lifetimes are given in days. */
export function relativeTime(date: Date, now: Date): string {
  const distance = date.getTime() - now.getTime()
  const size = Math.abs(distance)
  if (size < minute) return distance > 0 ? "in less than a minute" : "just now"
  if (size < hour) return relative.format(Math.trunc(distance / minute), "minute")
  if (size < day) return relative.format(Math.trunc(distance / hour), "hour")
  if (size < 100 * day) return relative.format(Math.round(distance / day), "day")
  if (size < 700 * day) return relative.format(Math.round(distance / (30.44 * day)), "month")
  return relative.format(Math.round(distance / (365.25 * day)), "year")
}

/** "in 3 minutes" */
export function inMinutes(seconds: number): string {
  return relative.format(Math.ceil(seconds / 60), "minute")
}

/** "21 Nov 2026, 12:38 UTC" */
export function absoluteTime(date: Date): string {
  return `${dateTime.format(date)} UTC`
}

/** "21 Nov, 12:38:07", for the last days; the time is UTC. */
export function exactTime(date: Date): string {
  return toTheSecond.format(date)
}

/** "19 February 2027" */
export function longDate(date: Date): string {
  return dateOnly.format(date)
}
