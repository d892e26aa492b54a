const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })
/** British English would abbreviate September, and no other month, to four letters. */
const date = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" } as const
const toTheMinute = new Intl.DateTimeFormat("en", clock)
const toTheSecond = new Intl.DateTimeFormat("en", { ...clock, second: "2-digit" })

/** Days up to about three months, because key lifetimes are given in days. */
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

export function inMinutes(seconds: number): string {
  return relative.format(Math.ceil(seconds / 60), "minute")
}

export function absoluteTime(time: Date): string {
  return `${plainDate(time)}, ${toTheMinute.format(time)} UTC`
}

export function clockTime(time: Date): string {
  return toTheSecond.format(time)
}

export function plainDate(time: Date): string {
  return `${dayAndMonth(time)} ${partsOf(time).year}`
}

/** A date within a sentence, which does not break. */
export function unbroken(date: string): string {
  return date.replaceAll(" ", "\u00a0")
}

export function dayAndMonth(time: Date): string {
  const { day, month } = partsOf(time)
  return `${day} ${month}`
}

function partsOf(time: Date): Partial<Record<Intl.DateTimeFormatPartTypes, string>> {
  return Object.fromEntries(date.formatToParts(time).map(({ type, value }) => [type, value]))
}

export function calendarDate(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? plainDate(new Date(text)) : text
}
