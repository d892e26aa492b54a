import type { ReactNode } from "react"
import { Lock } from "@/components/values/lock"
import type { Surface } from "@/lib/surfaces"
import { CopyButton } from "./copy-button"

export function CodeFrame({
  title,
  surface,
  children,
}: {
  title: string
  /** Of the API that the code is about. */
  surface?: Surface | undefined
  /** A `code` element. */
  children: ReactNode
}) {
  return (
    <figure data-surface={surface} className="overflow-hidden rounded-lg border border-line bg-panel">
      <figcaption
        className={`flex h-9 items-center gap-2 px-3 text-xs font-medium ${surface ? "bg-accent/8 text-accent" : "bg-sunken text-muted"}`}
      >
        {surface && <Lock surface={surface} />}
        <span className="grow">{title}</span>
        <CopyButton label={title} />
      </figcaption>
      <pre className="px-3 py-2.5 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap">{children}</pre>
    </figure>
  )
}
