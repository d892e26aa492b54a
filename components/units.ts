/** The number format of a measure. Money is in integer cents; the label of the series names the currency. */
export type Unit = "count" | "cents" | "share"

type Format = { short: (value: number) => string; full: (value: number) => string }

const whole = new Intl.NumberFormat("en")
const compact = new Intl.NumberFormat("en", { notation: "compact" })
const exact = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const share = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

export const formatters: Record<Unit, Format> = {
  count: { short: (value) => compact.format(value), full: (value) => whole.format(value) },
  cents: { short: (value) => compact.format(value / 100), full: (value) => exact.format(value / 100) },
  share: { short: (value) => share.format(value), full: (value) => share.format(value) },
}
