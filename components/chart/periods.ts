import { dayAndMonth, plainDate } from "@/lib/platform/text/format-time"
import type { Period } from "./chart"

type PeriodUnit = "hour" | "day" | "week" | "month"

export function valuesSince(created: Date, starts: readonly Date[], values: readonly number[]): (number | null)[] {
  return values.map((value, index) => {
    const end = starts[index + 1]
    return end && end <= created ? null : value
  })
}

const hour = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" })

/** In UTC; on the axis, a year replaces its first month. */
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
