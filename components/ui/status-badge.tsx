const tones = {
  good: "bg-good/10 text-good",
  warn: "bg-warn/10 text-warn",
  bad: "bg-bad/10 text-bad",
  off: "bg-sunken text-muted",
} as const

export type Tone = keyof typeof tones

export function StatusBadge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span
      className={`inline-flex items-center align-middle gap-1.5 rounded-full px-2 py-px text-xs font-medium tracking-normal whitespace-nowrap ${tones[tone]}`}
    >
      <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />
      {children}
    </span>
  )
}
