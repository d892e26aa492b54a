import type { ReactNode } from "react"
import { CopyField } from "./copy-field"

export type Command = { label: string; text: string }

export function EmptyState({
  title,
  command,
  action,
  children,
}: {
  title: string
  /** The next step in a terminal. */
  command?: Command | undefined
  action?: ReactNode
  children?: ReactNode
}) {
  return (
    <div className="grid justify-items-center gap-2 border-y border-line px-4 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-sm text-muted">{children}</div>}
      {command && <CommandField {...command} />}
      {action && <div className="pt-2">{action}</div>}
    </div>
  )
}

function CommandField({ label, text }: Command) {
  return (
    <div className="w-full max-w-2xl pt-2 text-left">
      <CopyField
        id={label.toLowerCase().replaceAll(" ", "-")}
        label={label}
        value={text}
        copy="Copy"
        lines={text.split("\n").length}
      />
    </div>
  )
}
