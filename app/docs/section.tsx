import type { ReactNode } from "react"
import { Prose } from "./prose"
import type { DocumentSection } from "./sections"

export function Section({ id, title, text, children }: DocumentSection & { children?: ReactNode }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 id={`${id}-title`} className="text-base font-semibold">
        <a href={`#${id}`} className="hover:underline">
          {title}
        </a>
      </h2>
      {text.map((paragraph) => (
        <p key={paragraph}>
          <Prose>{paragraph}</Prose>
        </p>
      ))}
      {children}
    </section>
  )
}
