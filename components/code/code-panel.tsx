import { CopyButton } from "./copy-button"

export type CodeLanguage = "shell" | "javascript" | "python" | "json"

export function CodePanel({ title, code }: { title: string; code: string; language?: CodeLanguage }) {
  return (
    <figure className="overflow-hidden rounded-lg border border-line bg-panel">
      <figcaption className="flex h-9 items-center justify-between gap-2 border-b border-line px-3 text-xs font-medium text-muted">
        {title}
        <CopyButton label={title} />
      </figcaption>
      <pre className="px-3 py-2.5 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap">
        <code>{code}</code>
      </pre>
    </figure>
  )
}
