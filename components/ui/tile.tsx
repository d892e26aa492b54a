import type { ReactNode } from "react"
import { Link } from "./link"

export function Tile({
  label,
  note,
  href,
  children,
}: {
  label: string
  note?: ReactNode
  href?: string | undefined
  children: ReactNode
}) {
  return (
    <div
      className={`relative grid content-start gap-1 rounded-lg border border-line bg-panel p-3 ${href ? "hover:border-edge" : ""}`}
    >
      <dt className="text-xs text-muted">
        {href ? (
          <Link href={href} className="after:absolute after:inset-0 after:rounded-lg">
            {label}
          </Link>
        ) : (
          label
        )}
      </dt>
      <dd className="text-base font-semibold whitespace-pre-line">{children}</dd>
      {note && <dd className="text-xs text-muted">{note}</dd>}
    </div>
  )
}
