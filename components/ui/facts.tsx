import type { ReactNode } from "react"

export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-flow-dense grid-cols-2 gap-x-6 gap-y-4 border-y border-line py-4 lg:grid-cols-3">
      {children}
    </dl>
  )
}

export function Fact({ label, isWide = false, children }: { label: string; isWide?: boolean; children: ReactNode }) {
  return (
    <div
      className={`grid grid-cols-[minmax(0,1fr)] content-start gap-1 ${isWide ? "col-span-full" : "max-sm:has-[>dd>code,>dd>span>code]:col-span-full"}`}
    >
      <dt className="text-xs text-muted">{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
