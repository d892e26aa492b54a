/** The number format of a measure. Money is in integer cents of a currency. */
export type Unit = "count" | "cents" | "share"

type Format = Readonly<Record<"short" | "full", (value: number, currency?: string) => string>>

const whole = new Intl.NumberFormat("en")
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 })
const share = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

export const formatters: Record<Unit, Format> = {
  count: { short: (value) => compact.format(value), full: (value) => whole.format(value) },
  cents: {
    short: (value, currency) => amount(value, currency, { notation: "compact", minimumFractionDigits: 0 }),
    full: (value, currency) => amount(value, currency),
  },
  share: { short: (value) => share.format(value), full: (value) => share.format(value) },
}

function amount(cents: number, currency = "usd", options: Intl.NumberFormatOptions = {}): string {
  return new Intl.NumberFormat("en", { style: "currency", currency, ...options }).format(cents / 100)
}
