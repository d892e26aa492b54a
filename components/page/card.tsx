import type { ReactNode } from "react"

/** One column, so that all cards of a page are equally wide. */
export function Cards({ children }: { children: ReactNode }) {
  return <div className="grid max-w-4xl grid-cols-[minmax(0,1fr)] gap-6">{children}</div>
}

/** A setting: its title, one sentence and its control. */
export function Card({
  label,
  title,
  id,
  intro,
  children,
}: {
  label?: string
  title: ReactNode
  id?: string
  intro: ReactNode
  children: ReactNode
}) {
  return (
    <section
      aria-label={label}
      className="grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-4 rounded-lg border border-line bg-panel p-5 md:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]"
    >
      <div className="grid content-start gap-1">
        <h2 id={id} className="flex flex-wrap items-center gap-2 text-base font-semibold">
          {title}
        </h2>
        <p className="text-muted text-pretty">{intro}</p>
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-4">{children}</div>
    </section>
  )
}
