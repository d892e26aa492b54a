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
  /** Instead of no rows. */
  empty?: string
  children: readonly ReactNode[]
}) {
  return (
    <section aria-label={title} className="grid grid-cols-[minmax(0,1fr)] content-start">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 pb-2">
        <h2 className="text-base font-semibold">{title}</h2>
        {all && (
          <Link href={all.href} className="font-medium text-accent hover:underline">
            {all.label}
          </Link>
        )}
      </div>
      {children.length > 0 && <ul className="border-b border-line">{children}</ul>}
      {children.length === 0 && <p className="border-t border-line py-2.5 text-muted">{empty}</p>}
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
    <li className="flex items-baseline justify-between gap-4 border-t border-line py-1.5">
      <div className="min-w-0 wrap-anywhere">
        <div className="leading-6">{title}</div>
        {note && <div className="text-xs leading-6 text-muted">{note}</div>}
      </div>
      <div className="shrink-0 text-right">
        {end && <div className="leading-6">{end}</div>}
        {endNote && <div className="text-xs leading-6 text-muted">{endNote}</div>}
      </div>
    </li>
  )
}
