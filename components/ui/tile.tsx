import type { ReactNode } from "react"
import { Link } from "./link"

export function Tiles({ children }: { children: ReactNode }) {
  return <dl className="flex flex-wrap gap-x-6 gap-y-5">{children}</dl>
}

export function Tile({
  label,
  note,
  href,
  lead = false,
  children,
}: {
  label: string
  note?: ReactNode
  href?: string | undefined
  /** The figure that a page is about, at most one; it comes first. */
  lead?: boolean
  children: ReactNode
}) {
  return (
    <div
      className={`relative grid content-start gap-1 ${lead ? "grow-2 basis-full border-t-3 border-accent pt-2 sm:basis-64" : "min-w-34 grow border-t border-line pt-2.5"} ${href ? "hover:border-ink" : ""}`}
    >
      <dt className={lead ? "font-medium" : "text-muted"}>
        {href ? (
          <Link href={href} className="after:absolute after:inset-0">
            {label}
          </Link>
        ) : (
          label
        )}
      </dt>
      <dd
        className={`whitespace-pre-line ${lead ? "text-figure sm:text-4xl sm:tracking-[-0.035em]" : "text-xl font-semibold tracking-tight sm:text-figure"}`}
      >
        {children}
      </dd>
      {/* As wide as the figure, and not the reverse. */}
      {note && <dd className="w-0 min-w-full text-xs text-muted">{note}</dd>}
    </div>
  )
}
