import type { ReactNode } from "react"

export function EmptyState({ title, action, children }: { title: string; action?: ReactNode; children?: ReactNode }) {
  return (
    <div className="grid justify-items-center gap-2 border-y border-line px-4 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-sm text-muted">{children}</div>}
      {action && <div className="pt-2">{action}</div>}
    </div>
  )
}
