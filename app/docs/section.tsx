import type { ReactNode } from "react"
import type { DocumentSection } from "@/app/_shell/documents/sections"
import { Prose } from "./prose"

/** @param code beside the text on wide screens */
export function Section({
  id,
  title,
  text,
  code,
  children,
}: DocumentSection & { code?: ReactNode; children?: ReactNode }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className={`${sectionStyle} ${code ? "xl:grid-cols-2" : ""}`}>
      <div className={`grid min-w-0 content-start gap-3 ${code ? "" : "max-w-3xl"}`}>
        <h2 id={`${id}-title`} className="text-lg font-semibold">
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
      </div>
      {code && <div className="grid min-w-0 content-start gap-3">{code}</div>}
    </section>
  )
}

export const sectionStyle = "grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-4 border-line py-8 not-first-of-type:border-t"
