import type { ReactNode } from "react"

const tones = {
  bad: "bg-bad/8 text-bad",
  warn: "bg-warn/8 text-warn",
  good: "bg-good/8 text-good",
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
    <div className={`rounded-md px-3 py-2 outline-none ${tones[tone]}`} {...rest}>
      {children}
    </div>
  )
}
