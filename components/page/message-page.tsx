import type { ReactNode } from "react"

export function MessagePage({ status, title, children }: { status: string; title: string; children: ReactNode }) {
  return (
    <div className="mx-auto grid w-full max-w-lg justify-items-start gap-3 px-4 py-16">
      <p className="font-mono text-muted">{status}</p>
      <h1 className="text-title">{title}</h1>
      {children}
    </div>
  )
}
