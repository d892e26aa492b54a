import type { Surface } from "@/lib/surfaces"
import { CodeFrame } from "./code-frame"
import { type CodeLanguage, Highlighted } from "./highlighted"

/** For server components; a client component shows its code in a `CodeFrame`. */
export function CodePanel({
  title,
  code,
  language,
  surface,
}: {
  title: string
  code: string
  language?: CodeLanguage
  surface?: Surface | undefined
}) {
  return (
    <CodeFrame title={title} surface={surface}>
      {language ? <Highlighted language={language}>{code}</Highlighted> : <code>{code}</code>}
    </CodeFrame>
  )
}
