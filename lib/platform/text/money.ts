import { withMinus } from "./minus"

/** ISO 4217, for currencies without two digits. `Intl` has the digits that people use: none for HUF and IDR. */
const digits: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    "bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf".split(" ").map((code) => [code, 0]),
  ),
  ...Object.fromEntries("bhd iqd jod kwd lyd omr tnd".split(" ").map((code) => [code, 3])),
  ...{ clf: 4, uyw: 4 },
}

function digitsOf(currency: string): number {
  return digits[currency.toLowerCase()] ?? 2
}

/** `amount` is in minor units. */
export function money(amount: number, currency: string, options: Intl.NumberFormatOptions = {}): string {
  const places = digitsOf(currency)
  const format = { style: "currency", currency, minimumFractionDigits: places, maximumFractionDigits: places } as const
  return withMinus(new Intl.NumberFormat("en", { ...format, ...options }).format(amount / 10 ** places))
}

/** `amount` is in minor units. */
export function decimal(amount: number, currency: string): string {
  const places = digitsOf(currency)
  return (amount / 10 ** places).toFixed(places)
}

/** @returns the minor units of a decimal number, or null if the currency has fewer digits */
export function minorUnits(decimal: string, currency: string): number | null {
  const [whole = "", fraction = ""] = decimal.split(".")
  const places = digitsOf(currency)
  return fraction.length > places ? null : Number(whole + fraction.padEnd(places, "0"))
}
