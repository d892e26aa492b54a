import { withMinus } from "@/lib/platform/text/minus"

const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0, signDisplay: "exceptZero" })
const points = new Intl.NumberFormat("en", { maximumFractionDigits: 1, signDisplay: "exceptZero" })

type Compared = {
  now: number
  before: number
  wanted?: "more" | "less"
}

export function Change({ now, before, wanted = "more" }: Compared) {
  if (before === 0) return null
  const text = percent.format((now - before) / Math.abs(before))
  return <Shown text={text} isGood={now > before === (wanted === "more")} />
}

export function ChangeOfShare({ now, before, wanted = "more" }: Compared) {
  return <Shown text={`${points.format((now - before) * 100)} pp`} isGood={now > before === (wanted === "more")} />
}

function Shown({ text, isGood }: { text: string; isGood: boolean }) {
  const isEven = /^0\b/.test(text)
  return (
    <span
      title="Compared with the previous range"
      className={`text-xs font-medium tracking-normal whitespace-nowrap ${isEven ? "text-muted" : isGood ? "text-good" : "text-bad"}`}
    >
      {withMinus(text)}
    </span>
  )
}
