import { withMinus } from "@/lib/platform/text/minus"
import { money } from "@/lib/platform/text/money"

/** Money is in minor units of its currency. */
export type Unit = "count" | "money" | "share"

type Format = Readonly<Record<"short" | "full", (value: number, currency?: string) => string>>

const whole = new Intl.NumberFormat("en")
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 })
const share = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

export const formatters: Record<Unit, Format> = {
  count: { short: (value) => withMinus(compact.format(value)), full: (value) => withMinus(whole.format(value)) },
  money: {
    short: (value, currency = "usd") =>
      money(value, currency, { notation: "compact", minimumFractionDigits: 0, maximumFractionDigits: 2 }),
    full: (value, currency = "usd") => money(value, currency),
  },
  share: { short: (value) => share.format(value), full: (value) => share.format(value) },
}
