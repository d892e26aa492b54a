import type { ReactNode } from "react"

export function Done({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="grid justify-items-start gap-4">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        {title}
      </h2>
      {children}
    </div>
  )
}
