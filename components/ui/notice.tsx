import type { ReactNode } from "react"

const tones = {
  bad: "border-bad/40 bg-bad/8 text-bad",
  warn: "border-warn/40 bg-warn/8 text-warn",
  good: "border-good/40 bg-good/8 text-good",
} as const

export function Notice({
  tone,
  children,
  ...rest
}: {
  tone: keyof typeof tones
  role?: "alert" | "status"
  tabIndex?: number
  children: ReactNode
}) {
  return (
    <div className={`rounded-md border px-3 py-2 outline-none ${tones[tone]}`} {...rest}>
      {children}
    </div>
  )
}
