/** The accent is that of the surface. `isAligned`: as wide as that of each other method. */
export function Method({ isAligned = false, children }: { isAligned?: boolean; children: string }) {
  const hue = children === "GET" ? "bg-sunken text-muted" : "bg-accent/10 text-accent"
  const width = isAligned ? "w-11 shrink-0 text-center" : "px-1.5"
  return (
    <span className={`rounded py-0.5 font-mono text-[0.6875rem] leading-4 font-semibold ${width} ${hue}`}>
      {children}
    </span>
  )
}
