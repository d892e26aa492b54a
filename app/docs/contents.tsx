import type { ReactNode } from "react"

export function WithContents({
  contents,
  children,
}: {
  contents: readonly { id: string; label: ReactNode }[]
  children: ReactNode
}) {
  return (
    <div className="grid gap-x-8 lg:grid-cols-[13rem_minmax(0,1fr)]">
      <nav
        aria-label="On this page"
        className="-mx-2 pt-6 lg:sticky lg:top-0 lg:max-h-dvh lg:self-start lg:overflow-y-auto lg:pb-6"
      >
        <p className="px-2 text-xs font-semibold">On this page</p>
        <ul className="mt-1.5 grid grid-cols-2 sm:grid-cols-3 lg:grid-cols-1">
          {contents.map(({ id, label }) => (
            <li key={id}>
              <a
                href={`#${id}`}
                className="block rounded-md px-2 py-1 text-muted max-sm:text-[0.8125rem] wrap-anywhere hover:bg-sunken hover:text-ink"
              >
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div className="min-w-0">{children}</div>
    </div>
  )
}

export function Section<Id extends string>({
  id,
  contents,
  children,
}: {
  id: NoInfer<Id>
  contents: readonly { id: Id; label: string }[]
  children: ReactNode
}) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="grid scroll-mt-4 gap-3">
      <h2 id={`${id}-title`} className="text-base font-semibold">
        {contents.find((section) => section.id === id)?.label}
      </h2>
      {children}
    </section>
  )
}
