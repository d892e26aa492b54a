import { renderToStaticMarkup } from "react-dom/server"
import { expect, test } from "vitest"
import { Money } from "@/components/list/cells"
import { formatters } from "@/components/values/units"
import { money } from "./money"

test.each([
  ["usd", "$1,050.00", "$1.05K"],
  ["eur", "€1,050.00", "€1.05K"],
  ["jpy", "¥105,000", "¥105K"],
  ["krw", "₩105,000", "₩105K"],
  ["kwd", "KWD 105.000", "KWD 105"],
  ["clf", "CLF 10.5000", "CLF 10.5"],
  // People use no digits of these, but their minor units are hundredths.
  ["huf", "HUF 1,050.00", "HUF 1.05K"],
  ["IDR", "IDR 1,050.00", "IDR 1.05K"],
])("an amount in minor units of %s is shown with the digits of ISO 4217", (currency, full, short) => {
  const plain = (text: string) => text.replaceAll("\u00A0", " ")
  expect(plain(money(105_000, currency))).toBe(full)
  expect(plain(renderToStaticMarkup(Money({ amount: 105_000, currency })))).toContain(`>${full}<`)
  expect(plain(formatters.money.full(105_000, currency))).toBe(full)
  expect(plain(formatters.money.short(105_000, currency))).toBe(short)
})
