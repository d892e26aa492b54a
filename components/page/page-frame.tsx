import type { ReactNode } from "react"
import { Lock } from "@/components/values/lock"
import type { Surface } from "@/lib/surfaces"

export function PageFrame({
  title,
  intro,
  back,
  actions,
  surface,
  children,
}: {
  title: ReactNode
  intro?: ReactNode
  back?: ReactNode
  actions?: ReactNode
  /** Of a page about keys. */
  surface?: Surface
  children: ReactNode
}) {
  return (
    <div data-surface={surface} className="mx-auto grid w-full max-w-6xl grid-cols-[minmax(0,1fr)] gap-6">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 flex-[1_1_16rem] gap-1">
          {back}
          <h1 className="flex flex-wrap items-center gap-x-3 text-title wrap-anywhere">
            {surface && <Lock surface={surface} />}
            {title}
          </h1>
          {intro && <div className="text-muted wrap-anywhere">{intro}</div>}
        </div>
        {actions}
      </header>
      {children}
    </div>
  )
}

export function Panel({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section aria-label={label} className="grid max-w-xl gap-4 rounded-lg border border-line bg-panel p-5">
      {children}
    </section>
  )
}
