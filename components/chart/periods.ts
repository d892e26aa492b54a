import { dayAndMonth, plainDate } from "@/lib/platform/text/format-time"
import type { Period } from "./chart"

type PeriodUnit = "hour" | "day" | "week" | "month"

/** The values from the period in which something was created: there are none before. */
export function valuesSince(created: Date, starts: readonly Date[], values: readonly number[]): (number | null)[] {
  return values.map((value, index) => {
    const end = starts[index + 1]
    return end && end <= created ? null : value
  })
}

const hour = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" })

/** The texts of a period (UTC): "28 Oct" and "28 Oct 2026"; on the axis, a year instead of its first month. */
export function periodNames(start: Date, unit: PeriodUnit): Period {
  const [label, name] = [dayAndMonth(start), plainDate(start)]
  switch (unit) {
    case "hour":
      return { label: hour.format(start), name: `${name}, ${hour.format(start)} UTC` }
    case "day":
      return { label, name }
    case "week":
      return { label, name: `Week of ${name}` }
    case "month": {
      const [, month = "", year = ""] = name.split(" ")
      return { label: month === "Jan" ? year : month, name: `${month} ${year}` }
    }
  }
}
