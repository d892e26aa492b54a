import { renderToStaticMarkup } from "react-dom/server"
import { expect, test } from "vitest"
import { Chart, type Series } from "./chart"
import { periodNames, valuesSince } from "./periods"

const periods = ["2026-12-30", "2026-12-31", "2027-01-01"].map((day) => periodNames(new Date(day), "day"))

function drawn(series: readonly Series[], kind: "bar" | "line" = "bar", unit: "count" | "money" = "count"): string {
  return renderToStaticMarkup(<Chart title="Test" kind={kind} unit={unit} periods={periods} series={series} />)
}

/** The texts of all scales, in the order of the drawing. */
function ticksOf(html: string): string[] {
  return [...html.matchAll(/-translate-y-1\/2" style="[^"]*">([^<]*)</g)].map(([, text]) => String(text))
}

test("ticks are round and even, with the currency of amounts", () => {
  expect(ticksOf(drawn([{ label: "Runs", values: [0, 700, 1_350] }]))).toEqual(["0", "500", "1K", "1.5K"])
  const amounts = { label: "EUR", currency: "eur", values: [0, 90_000, 140_000] }
  expect(ticksOf(drawn([amounts], "line", "money"))).toEqual(["€0", "€500", "€1K", "€1.5K"])
  const yen = { label: "JPY", currency: "jpy", values: [0, 900, 1_400] }
  expect(ticksOf(drawn([yen], "line", "money"))).toEqual(["¥0", "¥500", "¥1K", "¥1.5K"])
  expect(ticksOf(drawn([{ label: "Runs", values: [0, 1, 0] }]))).toEqual(["0", "1"])
})

test("a chart without any value says so instead of drawing an empty scale", () => {
  expect(drawn([{ label: "Runs", values: [0, null, 0], before: [0, 0, 0] }])).toContain("Nothing in this range")
  expect(drawn([{ label: "Runs", values: [0, 0, 0], before: [0, 2, 0] }])).toContain("<svg")
})

test("series of very different size, and amounts of different currencies, have scales of their own", () => {
  const scales = (...series: Series[]) => drawn(series).split("<svg").length - 1
  const series = (label: string, value: number, currency?: string) => ({ label, currency, values: [value, 0, 0] })
  expect(scales(series("Spent", 10), series("Failed", 2))).toBe(1)
  expect(scales(series("Spent", 10), series("Granted", 1_000), series("Purchased", 12))).toBe(2)
  expect(scales(series("EUR", 10, "eur"), series("USD", 10, "usd"))).toBe(2)
})

test("parts of one number share a scale, on which the smallest of them is still seen", () => {
  const parts = [
    { label: "Succeeded", values: [10_000, 0, 0] },
    { label: "Failed", values: [1, 0, 0] },
  ]
  const html = renderToStaticMarkup(
    <Chart title="Test" kind="bar" unit="count" areParts periods={periods} series={parts} />,
  )
  expect(html.split("<svg")).toHaveLength(2)
  expect(html).toContain('d="M0.5 100V98.5h0.36V100z"')
})

test("only failures have the color of a bad status, and no series has that of a good one or a warning", () => {
  const labels = ["One", "Two", "Three"]
  const html = drawn(labels.map((label) => ({ label, values: [1, 2, 3] })))
  expect(html).not.toMatch(/--(good|warn|bad)/)
  expect(new Set([...html.matchAll(/fill="var\((--\w+)\)"/g)].map(([, color]) => color)).size).toBe(3)
  expect(drawn([{ label: "Failed", isFailure: true, values: [1, 2, 3] }])).toContain('fill="var(--bad)"')
})

test("values begin with the period in which something was created, and a single one is as wide as its period", () => {
  const starts = ["2026-12-30", "2026-12-31", "2027-01-01"].map((day) => new Date(day))
  const since = (time: string) => valuesSince(new Date(time), starts, [0, 0, 5])
  expect(since("2026-11-01")).toEqual([0, 0, 5])
  expect(since("2026-12-31T23:59:59Z")).toEqual([null, 0, 5])
  expect(since("2027-01-01T00:00:00Z")).toEqual([null, null, 5])
  expect(drawn([{ label: "Balance", values: since("2027-01-01T00:00:00Z") }], "line")).toMatch(/d="M2 \S+h1"/)
})

test("a line is broken where there is no value, and negative bars hang from zero", () => {
  expect(drawn([{ label: "Rate", values: [1, null, 2] }], "line")).toMatch(/d="M0 \S+M2 \S+"/)
  expect(drawn([{ label: "Net", values: [-10, 0, 10] }])).toMatch(/d="M0\.14 50V100h0\.72V50zM2\.14 50V0h0\.72V50z"/)
})

test("periods are named for the axis and for their values", () => {
  const start = new Date("2027-01-04T14:00:00Z")
  expect(periodNames(start, "hour")).toEqual({ label: "14:00", name: "4 Jan 2027, 14:00 UTC" })
  expect(periodNames(start, "day")).toEqual({ label: "4 Jan", name: "4 Jan 2027" })
  expect(periodNames(start, "week")).toEqual({ label: "4 Jan", name: "Week of 4 Jan 2027" })
  expect(periodNames(start, "month")).toEqual({ label: "2027", name: "Jan 2027" })
  expect(periodNames(new Date("2027-09-01"), "month")).toEqual({ label: "Sep", name: "Sep 2027" })
})
