import type { ReactNode } from "react"
import { Link } from "@/components/ui/link"

export function PanelList({
  title,
  all,
  empty,
  children,
}: {
  title: string
  all?: { href: string; label: string } | undefined
  empty: string
  children: readonly ReactNode[]
}) {
  return (
    <section
      aria-label={title}
      className="grid grid-cols-[minmax(0,1fr)] content-start rounded-lg border border-line bg-panel"
    >
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 px-4 pt-3 pb-2">
        <h2 className="font-medium">{title}</h2>
        {all && (
          <Link href={all.href} className="text-accent hover:underline">
            {all.label}
          </Link>
        )}
      </div>
      {children.length > 0 ? <ul className="pb-1">{children}</ul> : <p className="px-4 pb-4 text-muted">{empty}</p>}
    </section>
  )
}

export function PanelRow({
  title,
  note,
  end,
  endNote,
}: {
  title: ReactNode
  note?: ReactNode
  end?: ReactNode
  endNote?: ReactNode
}) {
  return (
    <li className="flex items-baseline justify-between gap-4 border-t border-line px-4 py-2.5">
      <div className="min-w-0 wrap-anywhere">
        <div>{title}</div>
        {note && <div className="text-xs text-muted">{note}</div>}
      </div>
      <div className="shrink-0 text-right">
        {end && <div>{end}</div>}
        {endNote && <div className="text-xs text-muted">{endNote}</div>}
      </div>
    </li>
  )
}
