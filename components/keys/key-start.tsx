import { Lock } from "@/components/values/lock"
import { surfaceOf } from "@/lib/surfaces"

/** The first characters of a key, in the hue of its surface. */
export function KeyStart({ children: start }: { children: string }) {
  const surface = surfaceOf(start)
  return (
    <code
      data-surface={surface}
      className="inline-flex items-center gap-1.5 rounded bg-accent/8 px-1.5 align-bottom font-mono text-xs leading-3.5 font-normal whitespace-nowrap text-accent"
    >
      <Lock surface={surface} />
      {start}…
    </code>
  )
}
