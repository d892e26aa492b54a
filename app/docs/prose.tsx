import { Breakable } from "@/components/values/breakable"
export function Prose({ children }: { children: string }) {
  const parts = children.split(/(`[^`]+`|\*\*[^*]+\*\*)/)
  return parts.map((part, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have a fixed order
    if (part.startsWith("`")) return <Code key={index}>{part.slice(1, -1)}</Code>
    // biome-ignore lint/suspicious/noArrayIndexKey: as above
    if (part.startsWith("**")) return <strong key={index}>{part.slice(2, -2)}</strong>
    return part
  })
}

export function Code({ children }: { children: string }) {
  return (
    <code className="font-mono text-[0.8125rem] text-ink wrap-anywhere">
      <Breakable after="/">{children}</Breakable>
    </code>
  )
}
