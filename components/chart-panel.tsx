import type { ComponentProps } from "react"
import { Chart } from "./chart"

export function ChartPanel({ title, ...chart }: { title: string } & ComponentProps<typeof Chart>) {
  return (
    <section
      aria-label={title}
      className="grid grid-cols-[minmax(0,1fr)] gap-3 overflow-hidden rounded-lg border border-line bg-panel p-3"
    >
      <h2 className="font-medium">{title}</h2>
      <Chart {...chart} />
    </section>
  )
}
